/* A queue and workers over TCP: tasks with files there and back, results, cancelling, figures. */
#include <errno.h>
#include <list.h>
#include <time.h>
#include <work_queue.h>

#include "support.h"

static struct work_queue_task* must_wait(struct work_queue* q) {
    struct work_queue_task* t = work_queue_wait(q, WORK_QUEUE_WAITFORTASK);
    CHECK(t != NULL);
    if (!t) exit(verdict("queue"));
    return t;
}

static void there_and_back(struct work_queue* q) {
    struct work_queue_task* t =
        work_queue_task_create("cat in buffer piece > out; echo said; echo told >&2; exit 3");
    write_file("input", "from a file\n");
    CHECK(work_queue_task_specify_file(t, "input", "in", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE));
    CHECK(work_queue_task_specify_buffer(t, "from a buffer\n", 14, "buffer", WORK_QUEUE_NOCACHE));
    CHECK(
        work_queue_task_specify_file_piece(t, "input", "piece", 5, 5, WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE));
    CHECK(work_queue_task_specify_file(t, "output", "out", WORK_QUEUE_OUTPUT, WORK_QUEUE_FAILURE_ONLY));
    CHECK(work_queue_task_specify_file(t, "success", "input", WORK_QUEUE_OUTPUT, WORK_QUEUE_SUCCESS_ONLY));
    work_queue_task_specify_tag(t, "there");
    work_queue_task_specify_cores(t, 1);
    const int id = work_queue_submit(q, t);
    CHECK(id >= 1 && t->taskid == id && !work_queue_empty(q));
    struct work_queue_task* copy = work_queue_task_clone(t);
    CHECK_REFUSED(work_queue_submit(q, t), 0, "work_queue_submit: task");
    CHECK_REFUSED(work_queue_task_specify_buffer(t, "", 0, "late", WORK_QUEUE_NOCACHE), 0,
                  "work_queue_task_specify_buffer: task");

    CHECK(must_wait(q) == t);
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && t->return_status == 3 && t->exit_status == 3);
    CHECK_TEXT(t->output, "said\ntold\n");
    CHECK_TEXT(t->reason, "exit 3");
    CHECK_TEXT(read_file("output"), "from a file\nfrom a buffer\na");
    CHECK(t->host && t->hostname && t->try_count == 1 && t->bytes_received > 10);
    CHECK(work_queue_task_output_size(t) == 10 && work_queue_gather(q, 0) == 1);
    CHECK(t->time_when_submitted > 0 && t->time_when_commit_start >= t->time_when_submitted);
    CHECK(t->time_when_done >= t->time_when_commit_start && t->time_task_finish == t->time_when_done);
    CHECK(t->resources_allocated->cores == 1 && t->resources_measured->wall_time > 0);
    CHECK(work_queue_task_state(q, id) == WORK_QUEUE_TASK_DONE);

    remove("output");
    CHECK(work_queue_submit(q, copy) == id + 1);
    CHECK(must_wait(q) == copy && copy->return_status == 3 && is_there("output"));
    CHECK_TEXT(copy->tag, "there");
    work_queue_task_delete(copy);

    work_queue_task_specify_command(t, "exit 0");
    CHECK(work_queue_submit(q, t) == id + 2);
    CHECK(must_wait(q) == t && t->return_status == 0);
    CHECK_TEXT(t->output, "");
    work_queue_task_delete(t);
    CHECK(work_queue_empty(q));
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == NULL);
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    CHECK(work_queue_wait(q, 1) == NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    const double passed =
        (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
    CHECK(passed >= 0.999);
    CHECK(work_queue_wait_at_most(q, NULL, 60000) == NULL);
}

static void results(struct work_queue* q) {
    struct work_queue_task* t = work_queue_task_create("true");
    work_queue_task_specify_file(t, "no-such-file", "in", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
    work_queue_submit(q, t);
    must_wait(q);
    CHECK(t->result == WORK_QUEUE_RESULT_INPUT_MISSING && t->return_status == -1);
    CHECK(strstr(t->reason, "no-such-file") != NULL);
    work_queue_task_delete(t);

    t = work_queue_task_create("true");
    work_queue_task_specify_file(t, "never", "never", WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE);
    work_queue_submit(q, t);
    must_wait(q);
    CHECK(t->result == WORK_QUEUE_RESULT_OUTPUT_MISSING && t->return_status == 0);
    work_queue_task_delete(t);

    t = work_queue_task_create("kill -9 $$");
    work_queue_submit(q, t);
    must_wait(q);
    CHECK(t->result == WORK_QUEUE_RESULT_SIGNAL && t->return_status == 9);
    work_queue_task_delete(t);

    t = work_queue_task_create("echo $NAME");
    work_queue_task_specify_environment_variable(t, "NAME", "by the task");
    work_queue_submit(q, t);
    must_wait(q);
    CHECK_TEXT(t->output, "by the task\n");
    work_queue_task_delete(t);

    t = work_queue_task_create("true");
    work_queue_task_specify_file(t, "input", "a", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
    work_queue_task_specify_file(t, "input", "a/b", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
    CHECK_REFUSED(work_queue_submit(q, t), 0, "work_queue_submit: ");
    CHECK(work_queue_empty(q));
    work_queue_task_delete(t);
}

/* The older functions, where outputs have their remote name first. */
static void older_names(struct work_queue* q) {
    struct work_queue_task* t = work_queue_task_create("cat a b c > d; cp d e");
    write_file("first", "1");
    CHECK(work_queue_task_specify_input_file(t, "first", "a") == 1);
    CHECK(work_queue_task_specify_input_file_do_not_cache(t, "first", "b") == 1);
    CHECK(work_queue_task_specify_input_buf(t, "23", 2, "c") == 1);
    CHECK(work_queue_task_specify_output_file(t, "d", "fourth") == 1);
    CHECK(work_queue_task_specify_output_file_do_not_cache(t, "e", "fifth") == 1);
    work_queue_submit(q, t);
    must_wait(q);
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS);
    CHECK_TEXT(read_file("fourth"), "1123");
    CHECK_TEXT(read_file("fifth"), "1123");
    work_queue_task_delete(t);
}

static struct work_queue_task* tagged(struct work_queue* q, const char* command, const char* tag) {
    struct work_queue_task* t = work_queue_task_create(command);
    work_queue_task_specify_tag(t, tag);
    work_queue_task_specify_cores(t, 1);
    CHECK(work_queue_submit(q, t) > 0);
    return t;
}

static void deleted(struct work_queue_task* t) {
    work_queue_task_delete(t);
}

static void cancelling(struct work_queue* q) {
    struct work_queue_task* first = tagged(q, "exec tail -f /dev/null", "long");
    struct work_queue_task* second = tagged(q, "exec tail -f /dev/null", "long");
    struct work_queue_task* third = tagged(q, "true", "short");
    CHECK(work_queue_task_state(q, first->taskid) == WORK_QUEUE_TASK_READY ||
          work_queue_task_state(q, first->taskid) == WORK_QUEUE_TASK_RUNNING);
    CHECK_REFUSED((deleted(first), 0), 0, "work_queue_task_delete: task");
    CHECK(work_queue_cancel_by_taskid(q, first->taskid) == first);
    CHECK(work_queue_task_state(q, first->taskid) == WORK_QUEUE_TASK_CANCELED);
    CHECK(work_queue_cancel_by_taskid(q, first->taskid) == NULL &&
          work_queue_cancel_by_taskid(q, 99999) == NULL);
    CHECK(first->result == WORK_QUEUE_RESULT_UNKNOWN);
    CHECK(work_queue_wait_at_most(q, "long", 0) == NULL);
    CHECK(work_queue_wait_at_most(q, "long", 10) == NULL);
    CHECK(work_queue_wait_at_most(q, "none", 60000) == NULL);
    CHECK(work_queue_wait_at_most(q, "short", 60000) == third);
    CHECK(work_queue_cancel_by_tasktag(q, "long") == second);
    CHECK(work_queue_cancel_by_tasktag(q, "long") == NULL && work_queue_empty(q));
    CHECK(work_queue_submit(q, third) > 0);
    CHECK(work_queue_wait_for_tag(q, "short", WORK_QUEUE_WAITFORTASK) == third);
    CHECK(work_queue_submit(q, first) > 0 && work_queue_submit(q, second) > 0);
    struct list* all = work_queue_cancel_all_tasks(q);
    CHECK(list_size(all) == 2);
    while (list_size(all) > 0) {
        struct work_queue_task* t = list_pop_head(all);
        CHECK(t == first || t == second);
        work_queue_task_delete(t);
    }
    list_delete(all);
    work_queue_task_delete(third);
    CHECK(work_queue_empty(q));
}

static void figures(struct work_queue* q) {
    struct work_queue_task* t = tagged(q, "true", "counted");
    work_queue_wait(q, WORK_QUEUE_WAITFORTASK);
    struct work_queue_stats s, of_category;
    work_queue_get_stats(q, &s);
    CHECK(s.workers_connected == 1 && s.workers_joined == 1 && s.total_workers_connected == 1);
    CHECK(s.tasks_submitted >= 5 && s.tasks_cancelled == 4 && s.tasks_waiting == 0);
    CHECK(s.tasks_done == s.total_tasks_complete && s.tasks_failed >= 3);
    CHECK(s.time_when_started > 0 && s.start_time == s.time_when_started && s.total_cores == 2);
    CHECK(s.port == work_queue_port(q) && s.min_cores == 2 && s.max_cores == 2);
    work_queue_get_stats_hierarchy(q, &of_category);
    CHECK(of_category.tasks_submitted == s.tasks_submitted);
    work_queue_get_stats_category(q, "no such one", &of_category);
    CHECK(of_category.tasks_submitted == 0);
    work_queue_get_stats_category(q, NULL, &of_category);
    CHECK(of_category.tasks_submitted == s.tasks_submitted);
    CHECK(work_queue_hungry(q) > 0);
    CHECK(work_queue_get_effective_bandwidth(q) >= 0);

    char* status = work_queue_status(q, "queue");
    CHECK(status && strstr(status, "\"tasks_waiting\":0") && strstr(status, "\"workers\":1"));
    free(status);
    status = work_queue_status(q, "categories");
    CHECK(status && strstr(status, "\"category\":\"default\""));
    free(status);
    status = work_queue_status(q, "nonsense");
    CHECK_TEXT(status, "[]");
    free(status);
    status = work_queue_get_worker_summary(q);
    CHECK_TEXT(status, "n/a");
    free(status);

    CHECK(work_queue_submit(q, t) > 0);
    status = work_queue_status(q, "tasks");
    CHECK(status && strstr(status, "\"tag\":\"counted\"") && strstr(status, "\"command\":\"true\""));
    free(status);
    work_queue_wait(q, WORK_QUEUE_WAITFORTASK);
    CHECK(work_queue_specify_min_taskid(q, 1000) == 1000 && work_queue_specify_min_taskid(q, 5) == 1000);
    CHECK(work_queue_submit(q, t) == 1000 && work_queue_task_state(q, 999) == WORK_QUEUE_TASK_UNKNOWN);
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t && t->taskid == 1000);
    CHECK(work_queue_task_state(q, 1000) == WORK_QUEUE_TASK_DONE);
    work_queue_task_delete(t);
}

static void misuse(struct work_queue* q) {
    CHECK_REFUSED(work_queue_wait(NULL, 1), NULL, "work_queue_wait: the queue is NULL");
    CHECK_REFUSED(work_queue_submit(NULL, NULL), 0, "work_queue_submit: the queue is NULL");
    CHECK_REFUSED(work_queue_submit(q, NULL), 0, "work_queue_submit: the task is NULL");
    CHECK_REFUSED(work_queue_port(NULL), 0, "work_queue_port: the queue is NULL");
    CHECK(work_queue_specify_log(q, "late") == 1 && is_there("late"));
    CHECK_REFUSED(work_queue_specify_transactions_log(q, "/no/such"), 0,
                  "work_queue_specify_transactions_log: /no");
    CHECK_REFUSED((work_queue_get_stats(q, NULL), 0), 0, "work_queue_get_stats: the pointer");
    errno = 0;
    CHECK_REFUSED(work_queue_create(work_queue_port(q)), NULL, "work_queue_create: port");
    CHECK(errno == EADDRINUSE);
}

int main(void) {
    enter_folder();
    struct work_queue* q = work_queue_create(WORK_QUEUE_RANDOM_PORT);
    CHECK(q && work_queue_port(q) > 0 && work_queue_name(q) == NULL && work_queue_empty(q));
    const pid_t worker = start_worker_at(work_queue_port(q));
    there_and_back(q);
    results(q);
    older_names(q);
    cancelling(q);
    figures(q);
    misuse(q);

    struct work_queue_task* left = tagged(q, "exec tail -f /dev/null", "left");
    CHECK(work_queue_specify_draining_by_hostname(q, "nowhere", 1) == 0);
    CHECK(work_queue_shut_down_workers(q, 0) == 1);
    work_queue_delete(q);
    work_queue_task_delete(left);
    CHECK_REFUSED(work_queue_empty(q), 1, "work_queue_empty: this is not a queue, or it was deleted");
    work_queue_delete(NULL);
    end_worker(worker);
    leave_folder();
    return verdict("queue");
}
