/* Who may work, logs, limits, and what a queue does that cannot begin. */
#include <work_queue.h>
#define CCTOOLS_NO_SHORT_NAMES
#include <debug.h>

#include "support.h"

/* One task runs, by a worker that was started with these words. */
static void one_task(struct work_queue* q, const char* const* words) {
    const pid_t worker = start_worker(words);
    struct work_queue_task* t = work_queue_task_create("echo here");
    CHECK(work_queue_submit(q, t) == 1);
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t && t->return_status == 0);
    work_queue_task_delete(t);
    end_worker(worker);
}

/* Of two queues that anyone may join one line is said, by the first that serves. */
static void open_ports(void) {
    struct work_queue* silent = work_queue_create(0);
    struct work_queue* one = work_queue_create(0);
    struct work_queue* other = work_queue_create(0);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "work_queue: port %d has no password: ", work_queue_port(one));
    begin_stderr();
    CHECK(work_queue_hungry(one) > 0 && work_queue_hungry(other) > 0);
    work_queue_delete(one);
    work_queue_delete(other);
    work_queue_delete(silent);
    const char* said = end_stderr();
    CHECK(strncmp(said, wanted, strlen(wanted)) == 0 && strchr(said, '\n') == said + strlen(said) - 1);
}

static void password_and_logs(void) {
    struct work_queue* q = work_queue_create(0);
    char port[16];
    snprintf(port, sizeof port, "%d", work_queue_port(q));
    write_file("password", "a secret\n");
    CHECK_REFUSED(work_queue_specify_password_file(q, "no-such-file"), 0,
                  "work_queue_specify_password_file: ");
    CHECK_REFUSED((work_queue_specify_password(q, ""), 0), 0,
                  "work_queue_specify_password: the password is empty");
    work_queue_specify_password(q, "another one");
    CHECK(work_queue_specify_password_file(q, "password") == 1);
    CHECK(work_queue_specify_log(q, "stats.log") == 1);
    CHECK(work_queue_specify_transactions_log(q, "transactions.log") == 1);
    CHECK_REFUSED(work_queue_specify_log(q, "no-such-folder/log"), 0,
                  "work_queue_specify_log: no-such-folder/log: ");
    work_queue_specify_keepalive_interval(q, 45);
    work_queue_specify_keepalive_timeout(q, 50);
    CHECK_REFUSED((work_queue_specify_keepalive_timeout(q, -1), 0), 0,
                  "work_queue_specify_keepalive_timeout: ");
    CHECK(work_queue_tune(q, "hungry-minimum", 20) == 0);
    CHECK_REFUSED(work_queue_tune(q, "hungry-maximum", 20), -1, "work_queue_tune: tune: unknown parameter");
    CHECK_REFUSED(work_queue_tune(q, "hungry-minimum", -3), -1,
                  "work_queue_tune: tune: hungry-minimum takes");
    CHECK(work_queue_tune(q, "reconnect-timeout", 0) == 0 &&
          work_queue_tune(q, "reconnect-timeout", 10) == 0);
    CHECK_REFUSED(work_queue_tune(q, "reconnect-timeout", 9.9), -1,
                  "work_queue_tune: tune: reconnect-timeout takes 0, or a number of at least 10");
    cctools_debug_flags_set("all");
    cctools_debug_config_file("debug.log");
    const char* words[] = {"--password", "password", "localhost", port, NULL};
    one_task(q, words);
    CHECK(work_queue_hungry(q) == 20);
    CHECK(work_queue_tune(q, "hungry-minimum", 7) == 0 && work_queue_hungry(q) == 7);
    work_queue_specify_keepalive_interval(q, 60);
    cctools_debug(D_USER, "a line of the program");
    work_queue_delete(q);
    CHECK(strstr(read_file("transactions.log"), " TASK 1 DONE SUCCESS") != NULL);
    CHECK(strstr(read_file("stats.log"), "# timestamp workers_connected") == read_file("stats.log"));
    CHECK(strstr(read_file("debug.log"), "user: a line of the program") != NULL);
    CHECK(strstr(read_file("debug.log"), "wq") != NULL);
    cctools_debug_flags_clear();
    cctools_debug_config_file(NULL);
}

static void contact_and_name(void) {
    struct work_queue* q = work_queue_create(0);
    CHECK_REFUSED(work_queue_specify_contact_file(q, ""), 0, "work_queue_specify_contact_file: ");
    CHECK(work_queue_specify_contact_file(q, "contact") == 1 && work_queue_name(q) == NULL);
    CHECK_REFUSED(work_queue_specify_status(q, "all"), 0, "work_queue_specify_status: give open, key or off");
    CHECK_REFUSED(work_queue_specify_status(q, NULL), 0, "work_queue_specify_status: ");
    CHECK(work_queue_specify_status(q, "off") == 1);
    work_queue_specify_name(q, "a project");
    CHECK_TEXT(work_queue_name(q), "a project");
    work_queue_specify_name(q, NULL);
    CHECK(work_queue_name(q) == NULL);
    const char* words[] = {"--contact", "contact", NULL};
    one_task(q, words);
    CHECK(is_there("contact"));
    work_queue_specify_name(q, "late");
    CHECK(work_queue_specify_status(q, "open") == 1);
    CHECK_TEXT(work_queue_name(q), "late");
    CHECK_REFUSED(work_queue_specify_contact_file(q, "other"), 0,
                  "work_queue_specify_contact_file: too late");
    work_queue_delete(q);
    CHECK(!is_there("contact"));
}

static void tls(void) {
    struct work_queue* plain = work_queue_ssl_create(0, NULL, NULL);
    CHECK(plain != NULL);
    if (!plain) return;
    char plain_port[16];
    snprintf(plain_port, sizeof plain_port, "%d", work_queue_port(plain));
    const char* without_tls[] = {"localhost", plain_port, NULL};
    one_task(plain, without_tls);
    work_queue_delete(plain);
    CHECK_REFUSED(work_queue_ssl_create(0, "key.pem", NULL), NULL,
                  "work_queue_ssl_create: key and certificate");
    CHECK_REFUSED(work_queue_ssl_create(0, "key.pem", "certificate.pem"), NULL, "work_queue_ssl_create: ");
    CHECK(
        system(
            "openssl req -x509 -newkey rsa:2048 -keyout key.pem -out certificate.pem -sha256 -days 2 -nodes "
            "-subj /CN=test >openssl.log 2>&1") == 0);
    struct work_queue* q = work_queue_ssl_create(0, "key.pem", "certificate.pem");
    CHECK(q != NULL);
    if (!q) return;
    write_file("password", "a secret\n");
    CHECK(work_queue_specify_password_file(q, "password") == 1);
    char port[16];
    snprintf(port, sizeof port, "%d", work_queue_port(q));
    const char* words[] = {"--ssl", "--password", "password", "localhost", port, NULL};
    one_task(q, words);
    work_queue_delete(q);
}

/* A key is required and there is none: what was submitted comes back, so that a loop until it is empty ends.
 */
static void cannot_begin(void) {
    setenv("WORK_QUEUE_REQUIRE_KEY", "1", 1);
    struct work_queue* q = work_queue_create(0);
    struct work_queue_task* first = work_queue_task_create("true");
    struct work_queue_task* second = work_queue_task_create("true");
    work_queue_task_specify_tag(second, "second");
    CHECK(work_queue_submit(q, first) == 1 && work_queue_submit(q, second) == 2);
    CHECK_REFUSED(work_queue_wait_for_tag(q, "second", 5), second, "work_queue: a key is required");
    CHECK(second->result == WORK_QUEUE_RESULT_FORSAKEN && second->return_status == -1);
    CHECK(strstr(second->reason, "a key is required") != NULL && second->taskid == 2);
    CHECK_TEXT(second->output, "");
    CHECK(work_queue_wait(q, 5) == first && work_queue_empty(q) && work_queue_wait(q, 5) == NULL);
    CHECK_REFUSED(work_queue_submit(q, first), 0, "work_queue_submit: a key is required");
    struct work_queue_stats s;
    work_queue_get_stats(q, &s);
    CHECK(s.workers_connected == 0 && work_queue_hungry(q) == 1 && work_queue_shut_down_workers(q, 0) == 0);
    work_queue_delete(q);
    work_queue_task_delete(first);
    work_queue_task_delete(second);
    unsetenv("WORK_QUEUE_REQUIRE_KEY");
}

static void ports(void) {
    setenv("WORK_QUEUE_PORT", "no number", 1);
    CHECK_REFUSED(work_queue_create(0), NULL, "work_queue_create: WORK_QUEUE_PORT=no number is not a port");
    unsetenv("WORK_QUEUE_PORT");
    CHECK_REFUSED(work_queue_create(70000), NULL, "work_queue_create: port 70000 is not a port");
}

/* What is no amount, name or mode is refused; the rest holds once the queue begins. */
static void categories_and_monitoring(void) {
    struct work_queue* q = work_queue_create(0);
    struct work_queue_task* t = work_queue_task_create("echo $CORES");
    struct rmsummary* r = rmsummary_create(-1);
    CHECK_REFUSED(work_queue_specify_category_mode(q, "c", (work_queue_category_mode_t)9), 0,
                  "work_queue_specify_category_mode: unknown mode 9");
    CHECK_REFUSED(work_queue_enable_category_resource(q, "c", "teeth", 1), 0,
                  "work_queue_enable_category_resource: unknown resource 'teeth'");
    CHECK_REFUSED(work_queue_enable_category_resource(q, "c", NULL, 1), 0,
                  "work_queue_enable_category_resource: ");
    r->cores = 1e9;
    CHECK_REFUSED((work_queue_specify_category_max_resources(q, "c", r), 0), 0,
                  "work_queue_specify_category_max_resources: cores(1e+09): ");
    r->cores = -1;
    r->memory = 0.0 / 0.0;
    CHECK_REFUSED((work_queue_specify_category_min_resources(q, "c", r), 0), 0,
                  "work_queue_specify_category_min_resources: memory and disk must be numbers");
    CHECK_REFUSED((work_queue_initialize_categories(q, NULL, "no-such-file"), 0), 0,
                  "work_queue_initialize_categories: no-such-file: No such file");
    CHECK_REFUSED((work_queue_initialize_categories(q, NULL, NULL), 0), 0,
                  "work_queue_initialize_categories: the name");
    write_file("a-file", "");
    char folder[] = "a-file/below";
    CHECK_REFUSED(work_queue_enable_monitoring(q, folder, 1), 0,
                  "work_queue_enable_monitoring: a-file/below: ");
    CHECK_REFUSED(work_queue_enable_monitoring_full(q, folder, 1), 0, "work_queue_enable_monitoring_full: ");
    work_queue_task_specify_monitor_output(t, "a-file/below");
    CHECK_REFUSED(work_queue_submit(q, t), 0, "work_queue_submit: monitor_output: a-file/below: ");
    work_queue_task_specify_monitor_output(t, NULL);
    CHECK(t->monitor_output_directory == NULL);

    r->cores = 0;
    r->memory = 1e300;
    CHECK_REFUSED((work_queue_specify_category_first_allocation_guess(q, "c", r), 0), 0,
                  "work_queue_specify_category_first_allocation_guess: memory(");

    begin_stderr();
    r->memory = 1e9;
    work_queue_specify_category_first_allocation_guess(q, "c", r);
    work_queue_specify_category_max_resources(q, "none", NULL);
    r->memory = -7;
    r->cores = 1;
    work_queue_specify_max_resources(q, r);
    work_queue_specify_min_resources(q, NULL);
    work_queue_specify_category_max_concurrent(q, NULL, 1);
    CHECK(work_queue_enable_category_resource(q, "c", "gpus", 0) == 1);
    CHECK(work_queue_specify_category_mode(q, NULL, WORK_QUEUE_ALLOCATION_MODE_FIXED) == 1);
    char summaries[] = "summaries";
    CHECK(work_queue_enable_monitoring_full(q, summaries, 1) == 1 && is_there("summaries"));
    write_file("earlier", "{\"category\": \"known\", \"memory\": [300, \"MB\"]}\n");
    work_queue_initialize_categories(q, NULL, "earlier");
    CHECK(work_queue_submit(q, t) == 1);
    const pid_t worker = start_worker_at(work_queue_port(q));
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t);
    const char* said = end_stderr();
    CHECK_TEXT(said, "");
    CHECK(t->resources_allocated->cores == 1 && atof(t->output) == 1);
    char name[100];
    snprintf(name, sizeof name, "summaries/wq-%d-task-1.summary", (int)getpid());
    CHECK(is_there(name));
    char* status = work_queue_status(q, "categories");
    CHECK(strstr(status, "\"max_memory\":\"~300\"") != NULL);
    free(status);
    end_worker(worker);
    rmsummary_delete(r);
    work_queue_task_delete(t);
    work_queue_delete(q);
}

/* Short tasks, all of which could wait at the worker at once: it is known soon enough what they need. */
static void short_tasks_of_an_automatic_mode(void) {
    enum { count = 100 };
    struct work_queue* q = work_queue_create(0);
    CHECK(work_queue_enable_monitoring(q, NULL, 1) == 1);
    CHECK(work_queue_specify_category_mode(q, NULL, WORK_QUEUE_ALLOCATION_MODE_MAX) == 1);
    for (int i = 0; i < count; ++i) work_queue_submit(q, work_queue_task_create("true"));
    const pid_t worker = start_worker_at(work_queue_port(q));
    int whole = 0, last_cores = 0;
    for (int i = 0; i < count; ++i) {
        struct work_queue_task* t = work_queue_wait(q, WORK_QUEUE_WAITFORTASK);
        const int cores = (int)t->resources_allocated->cores;
        whole += cores == 2;
        if (t->taskid == count) last_cores = cores;
        work_queue_task_delete(t);
    }
    CHECK(whole > 0 && whole < count / 2 && last_cores == 1);
    if (whole >= count / 2) printf("%d of %d tasks had the whole worker\n", whole, count);
    end_worker(worker);
    work_queue_delete(q);
}

/* Only a queue with a name is announced, so these send nothing. */
static void what_others_are_told(void) {
    struct work_queue* q = work_queue_create(0);
    begin_stderr();
    work_queue_specify_catalog_server(q, "h", 0);
    work_queue_specify_catalog_server(q, "h", 9097);
    work_queue_specify_catalog_servers(q, NULL);
    work_queue_specify_catalog_servers(q, "h:9097,::1,[::1]:9098");
    work_queue_specify_priority(q, -3);
    work_queue_specify_num_tasks_left(q, 12);
    work_queue_master_preferred_connection(q, "by_hostname");
    CHECK_TEXT(end_stderr(), "");
    CHECK_REFUSED((work_queue_specify_catalog_server(q, "", 1), 0), 0,
                  "work_queue_specify_catalog_server: give the name of a host");
    CHECK_REFUSED((work_queue_specify_catalog_server(q, "h", 65536), 0), 0,
                  "work_queue_specify_catalog_server: give the name of a host");
    CHECK_REFUSED((work_queue_specify_catalog_servers(q, "h:x"), 0), 0,
                  "work_queue_specify_catalog_servers: no list of catalog servers");
    CHECK_REFUSED((work_queue_specify_num_tasks_left(q, -1), 0), 0,
                  "work_queue_specify_num_tasks_left: tasks_left: give 0 or more");
    CHECK_REFUSED((work_queue_manager_preferred_connection(q, "by_post"), 0), 0,
                  "work_queue_manager_preferred_connection: preferred_connection");
    char* status = work_queue_status(q, "queue");
    CHECK(status && strstr(status, "\"priority\":-3") && strstr(status, "\"tasks_left\":12") &&
          strstr(status, "\"manager_preferred_connection\":\"by_hostname\"") &&
          strstr(status, "\"wire\":\"work_queue/"));
    free(status);
    work_queue_delete(q);
}

/* Each is taken, and says once what it does not do. */
static void no_effect_yet(void) {
    struct work_queue* q = work_queue_create(0);
    struct work_queue_task* t = work_queue_task_create("true");
    CHECK_REFUSED((work_queue_set_bandwidth_limit(q, "100M"), 0), 0, "work_queue_set_bandwidth_limit: ");
    CHECK_REFUSED((work_queue_specify_algorithm(q, WORK_QUEUE_SCHEDULE_RAND), 0), 0,
                  "work_queue_specify_algorithm: ");
    CHECK_REFUSED((work_queue_specify_debug_path(q, "x"), 0), 0, "work_queue_specify_debug_path: ");
    CHECK_REFUSED((work_queue_specify_tlq_port(q, 1), 0), 0, "work_queue_specify_tlq_port: ");
    CHECK_REFUSED(work_queue_specify_snapshot_file(t, NULL), 0, "work_queue_specify_snapshot_file: ");
    CHECK(work_queue_specify_snapshot_file(t, "file") == 1);
    CHECK_TEXT(t->monitor_snapshot_file, "file");
    work_queue_task_specify_coprocess(t, "functions");
    CHECK_TEXT(t->coprocess, "functions");
    work_queue_task_specify_coprocess(t, NULL);
    CHECK(t->coprocess == NULL);
    struct rmsummary** workers = NULL;
    workers = work_queue_workers_summary(q);
    CHECK(workers && workers[0] == NULL); /* there are none */
    free(workers);

    /* And these have nothing to do. */
    begin_stderr();
    work_queue_specify_task_order(q, WORK_QUEUE_TASK_ORDER_LIFO);
    work_queue_specify_master_mode(q, WORK_QUEUE_MANAGER_MODE_CATALOG);
    work_queue_specify_estimate_capacity_on(q, 1);
    work_queue_invalidate_cached_file(q, "file", WORK_QUEUE_FILE);
    wq_option_scheduler = WORK_QUEUE_SCHEDULE_TIME;
    CHECK_TEXT(end_stderr(), "");
    char* name = work_queue_generate_disk_alloc_full_filename("folder", 7);
    CHECK(name && strncmp(name, "folder/", 7) == 0 &&
          work_queue_generate_disk_alloc_full_filename(NULL, 1) == NULL);
    free(name);
    work_queue_task_delete(t);
    work_queue_delete(q);
}

/* LeakSanitizer asks this at exit. Of a forked process it takes the threads of the one before for its own,
 * and what only they point at for lost. */
static int is_forked = 0;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    return is_forked;
}

static int exit_code_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A program that exits with a queue leaves nothing behind; one that was forked from it does not end the
 * queue. */
static void exit_with_a_queue(void) {
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        is_forked = 1;
        struct work_queue* q = work_queue_create(0);
        work_queue_specify_contact_file(q, "contact-of-child");
        work_queue_submit(q, work_queue_task_create("true"));
        work_queue_wait(q, 1);
        exit(is_there("contact-of-child") ? 3 : 4);
    }
    CHECK(exit_code_of(child) == 3 && !is_there("contact-of-child"));

    struct work_queue* q = work_queue_create(0);
    work_queue_specify_contact_file(q, "contact");
    CHECK(work_queue_hungry(q) > 0 && is_there("contact"));
    fflush(NULL);
    const pid_t other = fork();
    if (other == 0) {
        is_forked = 1;
        exit(5);
    }
    /* Under valgrind it has another code, as what the queue's threads held is lost to it. */
    const int code = exit_code_of(other);
    CHECK(code == 5 || (under_valgrind() && code == 99));
    if (code != 5) printf("the forked program ended with %d\n", code);
    CHECK(is_there("contact"));
    work_queue_delete(q);
    CHECK(!is_there("contact"));
}

int main(void) {
    enter_folder();
    exit_with_a_queue();
    open_ports();
    password_and_logs();
    contact_and_name();
    tls();
    cannot_begin();
    ports();
    categories_and_monitoring();
    short_tasks_of_an_automatic_mode();
    what_others_are_told();
    no_effect_yet();
    leave_folder();
    return verdict("settings");
}
