/* Every function with NULL for its task or queue, and with one that was deleted: each says one line of its
 * own and returns nothing. */
#include <work_queue.h>
#include <work_queue_factory.h>

#include "support.h"

static int calls = 0;
static struct work_queue* q;
static struct work_queue_task* t;
static struct work_queue_stats s;
static struct work_queue_factory* f;

/* The call has said one line, which begins with its own name. */
static void said(const char* call) {
    const char* line = end_stderr();
    const size_t name = strcspn(call, "(");
    ++calls;
    if (strncmp(line, call, name) != 0 || line[name] != ':' || strchr(line, '\n') != line + strlen(line) - 1)
        CHECK_TEXT(line, call);
}
#define NOTHING(call)   \
    do {                \
        begin_stderr(); \
        call;           \
        said(#call);    \
    } while (0)
#define RETURNS(value, call)                 \
    do {                                     \
        begin_stderr();                      \
        const int as_is = (call) == (value); \
        said(#call);                         \
        CHECK(as_is);                        \
    } while (0)
#define ZERO(call) RETURNS(0, call)

static void of_tasks(void) {
    const work_queue_file_type_t in = WORK_QUEUE_INPUT;
    ZERO(work_queue_task_clone(t));
    NOTHING(work_queue_task_specify_command(t, "x"));
    ZERO(work_queue_task_specify_file(t, "a", "b", in, WORK_QUEUE_CACHE));
    ZERO(work_queue_task_specify_file_piece(t, "a", "b", 0, 1, in, WORK_QUEUE_CACHE));
    ZERO(work_queue_task_specify_buffer(t, "a", 1, "b", WORK_QUEUE_CACHE));
    ZERO(work_queue_task_specify_directory(t, "a", "b", in, WORK_QUEUE_CACHE, 1));
    ZERO(work_queue_task_specify_directory(t, "a", "b", in, WORK_QUEUE_CACHE, 0));
    ZERO(work_queue_task_specify_url(t, "a", "b", in, WORK_QUEUE_CACHE));
    ZERO(work_queue_task_specify_file_command(t, "a", "b", in, WORK_QUEUE_CACHE));
    ZERO(work_queue_task_specify_input_buf(t, "a", 1, "b"));
    ZERO(work_queue_task_specify_input_file(t, "a", "b"));
    ZERO(work_queue_task_specify_input_file_do_not_cache(t, "a", "b"));
    ZERO(work_queue_task_specify_output_file(t, "a", "b"));
    ZERO(work_queue_task_specify_output_file_do_not_cache(t, "a", "b"));
    NOTHING(work_queue_task_specify_max_retries(t, 1));
    NOTHING(work_queue_task_specify_memory(t, 1));
    NOTHING(work_queue_task_specify_disk(t, 1));
    NOTHING(work_queue_task_specify_cores(t, 1));
    NOTHING(work_queue_task_specify_gpus(t, 1));
    NOTHING(work_queue_task_specify_end_time(t, 1));
    NOTHING(work_queue_task_specify_start_time_min(t, 1));
    NOTHING(work_queue_task_specify_running_time(t, 1));
    NOTHING(work_queue_task_specify_running_time_max(t, 1));
    NOTHING(work_queue_task_specify_running_time_min(t, 1));
    NOTHING(work_queue_task_specify_tag(t, "x"));
    NOTHING(work_queue_task_specify_category(t, "x"));
    NOTHING(work_queue_task_specify_feature(t, "x"));
    NOTHING(work_queue_task_specify_priority(t, 1));
    NOTHING(work_queue_task_specify_environment_variable(t, "a", "b"));
    NOTHING(work_queue_task_specify_enviroment_variable(t, "a", "b"));
    NOTHING(work_queue_task_specify_algorithm(t, WORK_QUEUE_SCHEDULE_RAND));
    NOTHING(work_queue_task_specify_monitor_output(t, "x"));
    NOTHING(work_queue_task_specify_coprocess(t, NULL));
    ZERO(work_queue_specify_snapshot_file(t, "x"));
}

static void of_queues(void) {
    struct rmsummary* r = NULL;
    ZERO(work_queue_submit(q, t));
    ZERO(work_queue_port(q));
    ZERO(work_queue_name(q));
    ZERO(work_queue_specify_min_taskid(q, 1));
    ZERO(work_queue_wait(q, 1));
    ZERO(work_queue_wait_for_tag(q, "x", 1));
    ZERO(work_queue_hungry(q));
    RETURNS(1, work_queue_empty(q));
    ZERO(work_queue_task_state(q, 1));
    ZERO(work_queue_cancel_by_taskid(q, 1));
    ZERO(work_queue_cancel_by_tasktag(q, "x"));
    ZERO(work_queue_cancel_all_tasks(q));
    ZERO(work_queue_shut_down_workers(q, 0));
    ZERO(work_queue_specify_draining_by_hostname(q, "x", 1));
    NOTHING(work_queue_block_host(q, "x"));
    NOTHING(work_queue_block_host_with_timeout(q, "x", 1));
    NOTHING(work_queue_unblock_host(q, "x"));
    NOTHING(work_queue_unblock_all(q));
    RETURNS(1, work_queue_activate_fast_abort(q, 2));
    RETURNS(1, work_queue_activate_fast_abort_category(q, "x", 2));
    NOTHING(work_queue_invalidate_cached_file(q, "x", WORK_QUEUE_FILE));
    NOTHING(work_queue_get_stats(q, &s));
    NOTHING(work_queue_get_stats_hierarchy(q, &s));
    NOTHING(work_queue_get_stats_category(q, "x", &s));
    ZERO(work_queue_status(q, "queue"));
    ZERO(work_queue_workers_summary(q));
    ZERO(work_queue_get_worker_summary(q));
    NOTHING(work_queue_get_effective_bandwidth(q));
    NOTHING(work_queue_specify_password(q, "x"));
    ZERO(work_queue_specify_password_file(q, "x"));
    ZERO(work_queue_specify_contact_file(q, "x"));
    NOTHING(work_queue_specify_name(q, "x"));
    ZERO(work_queue_specify_log(q, "x"));
    ZERO(work_queue_specify_transactions_log(q, "x"));
    RETURNS(-1, work_queue_tune(q, "hungry-minimum", 1));
    NOTHING(work_queue_specify_keepalive_interval(q, 1));
    NOTHING(work_queue_specify_keepalive_timeout(q, 1));
    NOTHING(work_queue_set_bandwidth_limit(q, "x"));
    NOTHING(work_queue_specify_algorithm(q, WORK_QUEUE_SCHEDULE_RAND));
    ZERO(work_queue_enable_monitoring(q, NULL, 0));
    ZERO(work_queue_enable_monitoring_full(q, NULL, 0));
    ZERO(work_queue_specify_category_mode(q, "x", WORK_QUEUE_ALLOCATION_MODE_FIXED));
    NOTHING(work_queue_specify_category_max_concurrent(q, "x", 1));
    ZERO(work_queue_enable_category_resource(q, "x", "cores", 1));
    NOTHING(work_queue_specify_max_resources(q, r));
    NOTHING(work_queue_specify_min_resources(q, r));
    NOTHING(work_queue_specify_category_max_resources(q, "x", r));
    NOTHING(work_queue_specify_category_min_resources(q, "x", r));
    NOTHING(work_queue_specify_category_first_allocation_guess(q, "x", r));
    NOTHING(work_queue_initialize_categories(q, r, "x"));
    NOTHING(work_queue_specify_catalog_server(q, "x", 1));
    NOTHING(work_queue_specify_catalog_servers(q, "x"));
    NOTHING(work_queue_specify_priority(q, 1));
    NOTHING(work_queue_specify_num_tasks_left(q, 1));
    NOTHING(work_queue_manager_preferred_connection(q, "by_ip"));
    NOTHING(work_queue_specify_debug_path(q, "x"));
    NOTHING(work_queue_specify_tlq_port(q, 1));
    NOTHING(work_queue_specify_task_order(q, WORK_QUEUE_TASK_ORDER_FIFO));
    NOTHING(work_queue_specify_manager_mode(q, WORK_QUEUE_MANAGER_MODE_STANDALONE));
    NOTHING(work_queue_specify_estimate_capacity_on(q, 1));
    ZERO(work_queue_factory_create(q, NULL));
}

static void of_factories(void) {
    struct work_queue_factory_report report;
    ZERO(work_queue_factory_specify(f, "cores", "1"));
    ZERO(work_queue_factory_start(f));
    NOTHING(work_queue_factory_stop(f));
    ZERO(work_queue_factory_running(f));
    ZERO(work_queue_factory_get_report(f, &report));
}

/* Its place in memory is not soon another one's, which would be deleted in its stead. */
static void deleted_twice(void) {
    enum { many = 1000 };
    static struct work_queue_task* others[many];
    struct work_queue_task* gone = work_queue_task_create("true");
    work_queue_task_delete(gone);
    int same = 0;
    for (int i = 0; i < many; ++i) {
        others[i] = work_queue_task_create("true");
        same += others[i] == gone;
    }
    CHECK(same == 0);
    NOTHING(work_queue_task_delete(gone));
    begin_stderr();
    for (int i = 0; i < many; ++i) work_queue_task_delete(others[i]);
    CHECK_TEXT(end_stderr(), "");
    struct work_queue* first = work_queue_create(0);
    work_queue_delete(first);
    struct work_queue* second = work_queue_create(0);
    CHECK(second != first);
    NOTHING(work_queue_delete(first));
    CHECK(work_queue_port(second) > 0);
    work_queue_delete(second);
}

int main(void) {
    enter_folder();
    of_tasks();
    of_queues();
    of_factories();
    t = work_queue_task_create("true");
    q = work_queue_create(0);
    f = work_queue_factory_create(q, "local");
    CHECK(t && q && f);
    work_queue_factory_delete(f);
    work_queue_task_delete(t);
    work_queue_delete(q);
    of_tasks();
    of_queues();
    of_factories();
    NOTHING(work_queue_factory_delete(f));
    NOTHING(work_queue_task_delete(t));
    NOTHING(work_queue_delete(q));
    begin_stderr();
    work_queue_task_delete(NULL);
    work_queue_delete(NULL);
    work_queue_factory_delete(NULL);
    CHECK_TEXT(end_stderr(), "");
    deleted_twice();
    CHECK(calls > 170);
    leave_folder();
    return verdict("misuse");
}
