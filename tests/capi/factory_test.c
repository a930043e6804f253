/* A queue whose workers a factory submits, as processes of this machine. */
#include <work_queue_factory.h>

#include "support.h"

/* TEXT with the test's folder for %s. */
static const char* in_folder(const char* text) {
    static char line[5000], here[4096];
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(line, sizeof line, text, here);
    return line;
}

/* Its jobs, with all that they start, are writers of the FIFO `alive`. */
static struct work_queue_factory* local_factory(struct work_queue* q, const char* folder) {
    struct work_queue_factory* f = work_queue_factory_create(q, "local");
    CHECK(f != NULL);
    const char* const settings[][2] = {{"scratch-dir", folder},
                                       {"min-workers", "0"},
                                       {"max-workers", "2"},
                                       {"cores", "1"},
                                       {"timeout", "1m"},
                                       {"cycle", "0.1"},
                                       {"worker-extra-options", "--grace 0"},
                                       {"status-interval", "0.2"},
                                       {"worker-start-cmd", in_folder("exec 3<>'%s/alive'")}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i)
        CHECK(work_queue_factory_specify(f, settings[i][0], settings[i][1]) == 1);
    return f;
}
/* Waits until none is left. */
static void nothing_is_left(void) {
    char byte;
    const int alive = open("alive", O_RDONLY | O_NONBLOCK);
    CHECK(alive >= 0 && fcntl(alive, F_SETFL, 0) == 0);
    CHECK(read(alive, &byte, 1) == 0);
    close(alive);
}

static void submit(struct work_queue* q, const char* command, int count) {
    for (int i = 0; i < count; ++i) CHECK(work_queue_submit(q, work_queue_task_create(command)) > 0);
}
/* How many tasks end well until the queue is empty. */
static int done(struct work_queue* q) {
    int count = 0;
    while (!work_queue_empty(q)) {
        struct work_queue_task* t = work_queue_wait(q, 5);
        if (!t) continue;
        count += t->result == WORK_QUEUE_RESULT_SUCCESS && t->return_status == 0;
        work_queue_task_delete(t);
    }
    return count;
}
/* Tasks that run until they are killed: nobody opens the gate. */
static void submit_waiting(struct work_queue* q, int count) {
    submit(q, in_folder("read x < '%s/gate'"), count);
}
static int busy(struct work_queue* q) {
    struct work_queue_stats s;
    work_queue_get_stats(q, &s);
    return s.workers_busy;
}
static int connected(struct work_queue* q) {
    struct work_queue_stats s;
    work_queue_get_stats(q, &s);
    return s.workers_connected;
}
static int64_t reported(struct work_queue_factory* f) {
    struct work_queue_factory_report report;
    return work_queue_factory_get_report(f, &report) ? report.workers_connected : -1;
}
/* Until the condition holds; no task ends meanwhile. */
#define WAIT_UNTIL(condition) \
    while (!(condition)) CHECK(work_queue_wait(q, 1) == NULL)

/* A forked process can delete its copy, and nothing else; the factory does not notice. */
static void in_a_forked_process(struct work_queue* q, struct work_queue_factory* f) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int before = failed;
        CHECK_REFUSED(work_queue_factory_start(f), 0,
                      "work_queue_factory_start: this factory belongs to the parent process");
        work_queue_delete(q);
        work_queue_factory_delete(f);
        fflush(NULL);
        _exit(failed == before ? 5 : 6);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    /* What the factory's thread held is lost to it, which valgrind reports. */
    CHECK(WEXITSTATUS(status) == 5 || (under_valgrind() && WEXITSTATUS(status) == 99));
    CHECK(work_queue_factory_running(f) == 1);
}

static void grows_and_stops(void) {
    struct work_queue* q = work_queue_create(0);
    struct work_queue_factory* f = local_factory(q, "grows");
    struct work_queue_factory_report report;
    CHECK(work_queue_factory_running(f) == 0);
    CHECK(work_queue_factory_get_report(f, &report) == 0 && report.workers_wanted == 0);
    CHECK(work_queue_factory_start(f) == 1 && work_queue_factory_start(f) == 1);
    CHECK(work_queue_factory_running(f) == 1);
    CHECK_REFUSED(work_queue_factory_specify(f, "scratch-dir", "x"), 0,
                  "work_queue_factory_specify: scratch-dir: too late");
    submit(q, "true", 8);
    CHECK(done(q) == 8);

    submit_waiting(q, 3);
    WAIT_UNTIL(busy(q) == 2);
    CHECK(work_queue_factory_specify(f, "max-workers", "3") == 1);
    WAIT_UNTIL(busy(q) == 3);
    WAIT_UNTIL(reported(f) == 3);
    CHECK(work_queue_factory_get_report(f, &report) == 1);
    CHECK(report.workers_wanted == 3 && report.tasks_on_workers == 3 && report.tasks_unfit == 0);
    CHECK_TEXT(report.held, "");
    in_a_forked_process(q, f);

    work_queue_factory_stop(f);
    CHECK(work_queue_factory_running(f) == 0);
    WAIT_UNTIL(connected(q) == 0);
    nothing_is_left();
    work_queue_factory_stop(f);

    /* The tasks still wait, and a factory may start again. */
    CHECK(work_queue_factory_specify(f, "factory-name", "again") == 1);
    CHECK(work_queue_factory_start(f) == 1);
    WAIT_UNTIL(busy(q) == 3);
    work_queue_factory_delete(f);
    WAIT_UNTIL(connected(q) == 0);
    struct work_queue_task* t;
    while ((t = work_queue_cancel_by_tasktag(q, NULL))) work_queue_task_delete(t);
    work_queue_delete(q);
}

/* Every option that the program reads at its start; one that it did not know would end it. Its workers know
 * the queue's password. */
static void options_of_the_program(void) {
    struct work_queue* q = work_queue_create(0);
    work_queue_specify_password(q, "a secret");
    struct work_queue_factory* f = local_factory(q, "options");
    const char* const options[][2] = {{"factory-name", "mine"},
                                      {"worker-binary", getenv("WORKER")},
                                      {"wall-time", "1h"},
                                      {"worker-start-cmd", "export STARTED=1"},
                                      {"feature", "big"},
                                      {"feature", "fast"},
                                      {"env", "COLOR=dark red"},
                                      {"wrapper", "env WRAPPED=1"},
                                      {"task-wrapper", "env EACH=1"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i)
        CHECK(work_queue_factory_specify(f, options[i][0], options[i][1]) == 1);
    struct work_queue_task* t =
        work_queue_task_create("test \"$STARTED $WRAPPED $EACH $COLOR\" = '1 1 1 dark red'");
    work_queue_task_specify_feature(t, "big");
    work_queue_task_specify_feature(t, "fast");
    work_queue_task_specify_feature(t, "factory:mine");
    CHECK(work_queue_submit(q, t) == 1 && work_queue_factory_start(f) == 1);
    CHECK(done(q) == 1);
    /* The queue stops it; it is still the program's. */
    work_queue_delete(q);
    CHECK(work_queue_factory_running(f) == 0);
    CHECK_REFUSED(work_queue_factory_start(f), 0, "work_queue_factory_start: its queue was deleted");
    CHECK(work_queue_factory_specify(f, "max-workers", "3") == 1);
    work_queue_factory_delete(f);
}

static void says_what_is_wrong(void) {
    struct work_queue* q = work_queue_create(0);
    CHECK_REFUSED(work_queue_factory_create(q, NULL), NULL,
                  "work_queue_factory_create: name the batch system");
    CHECK_REFUSED(work_queue_factory_create(q, ""), NULL, "work_queue_factory_create: name the batch system");
    struct work_queue_factory* f = work_queue_factory_create(q, "none");
    CHECK_REFUSED(work_queue_factory_specify(f, NULL, "1"), 0,
                  "work_queue_factory_specify: the name is NULL");
    CHECK_REFUSED(
        work_queue_factory_specify(f, "max-worker", "1"), 0,
        "work_queue_factory_specify: there is no setting 'max-worker' (did you mean 'max-workers'?)");
    CHECK_REFUSED(work_queue_factory_specify(f, "max-workers", NULL), 0,
                  "work_queue_factory_specify: max-workers: '' is not a whole number");
    CHECK_REFUSED(work_queue_factory_get_report(f, NULL), 0,
                  "work_queue_factory_get_report: the report is NULL");
    CHECK(work_queue_factory_specify(f, "condor-requirements", NULL) == 1);

    CHECK(work_queue_factory_specify(f, "scratch-dir", "/proc/none") == 1);
    begin_stderr();
    CHECK(work_queue_factory_start(f) == 0);
    CHECK(strstr(end_stderr(), "work_queue_factory_start: cannot write /proc/none/") != NULL);
    CHECK(work_queue_factory_specify(f, "scratch-dir", "wrong") == 1);
    begin_stderr();
    CHECK(work_queue_factory_start(f) == 0 && work_queue_factory_running(f) == 0);
    CHECK(strstr(end_stderr(), "work_queue_factory ended at once: factory: -T 'none': there are ") != NULL);
    CHECK(work_queue_factory_specify(f, "scratch-dir", NULL) == 1);
    work_queue_factory_delete(f);
    work_queue_delete(q);
}

/* A queue that cannot begin has no workers. */
static void without_a_key(void) {
    setenv("WORK_QUEUE_REQUIRE_KEY", "1", 1);
    struct work_queue* q = work_queue_create(0);
    struct work_queue_factory* f = local_factory(q, "keyless");
    CHECK_REFUSED(work_queue_factory_start(f), 0, "work_queue: a key is required");
    work_queue_delete(q);
    work_queue_factory_delete(f);
    unsetenv("WORK_QUEUE_REQUIRE_KEY");
}

/* A program that ends without stopping its factory leaves no task and no worker. */
static int end_with_a_factory(void) {
    struct work_queue* q = work_queue_create(0);
    struct work_queue_factory* f = local_factory(q, "ends");
    submit_waiting(q, 1);
    CHECK(work_queue_factory_start(f) == 1);
    WAIT_UNTIL(reported(f) == 1 && busy(q) == 1);
    return verdict("end with a factory");
}
static void ends_with_its_program(const char* program) {
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, "end", (char*)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    nothing_is_left();
}

int main(int count, char** words) {
    if (count > 1) return end_with_a_factory();
    enter_folder();
    CHECK(mkfifo("gate", 0600) == 0 && mkfifo("alive", 0600) == 0);
    ends_with_its_program(words[0]);
    grows_and_stops();
    options_of_the_program();
    says_what_is_wrong();
    without_a_key();
    leave_folder();
    return verdict("factory");
}
