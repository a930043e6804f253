/* The calls of the manual's C examples, each doing what the manual says of it, with real workers. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "debug.h"
#include "support.h"
#include "work_queue.h"

static struct work_queue* q;
static pid_t worker;

static void begin(void) {
    q = work_queue_create(0);
    CHECK(q != NULL);
    printf("listening on port %d\n", work_queue_port(q));
}
static void add_worker(void) {
    worker = start_worker_at(work_queue_port(q));
}
static void end(void) {
    work_queue_delete(q);
    if (worker > 0) end_worker(worker);
    worker = 0;
}
/* Submits it and waits for it. */
static struct work_queue_task* run(struct work_queue_task* t) {
    const int taskid = work_queue_submit(q, t);
    CHECK(taskid > 0 && work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t && t->taskid == taskid);
    return t;
}

/* "Creating a Queue": its own port, in a network of its own, where nobody else can have it. */
static void creating_a_queue(void) {
    enum { taken = 77 };
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int alone = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
        struct work_queue* fixed = work_queue_create(9123);
        if (!fixed && !alone && errno == EADDRINUSE) exit(taken);
        const int its_port = fixed ? work_queue_port(fixed) : 0;
        work_queue_delete(fixed);
        exit(its_port == 9123 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == taken));
    if (WIFEXITED(status) && WEXITSTATUS(status) == taken)
        printf("skipped: a queue on port 9123, which somebody has, and no network namespace here\n");
}

/* "Creating Standard Tasks", "Describing Tasks", "Managing Tasks". */
static void standard_task(void) {
    write_file("my-file", "to be compressed\n");
    struct work_queue_task* t = work_queue_task_create("./gzip < my-file > my-file.gz");
    CHECK(work_queue_task_specify_file(t, "/usr/bin/gzip", "gzip", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE));
    CHECK(work_queue_task_specify_file(t, "my-file", "my-file", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE));
    CHECK(work_queue_task_specify_file(t, "my-file.gz", "my-file.gz", WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE));
    work_queue_task_specify_cores(t, 2);
    work_queue_task_specify_memory(t, 4096 / 1024);
    work_queue_task_specify_tag(t, "config-4.5.0");
    const int taskid = work_queue_submit(q, t);
    int returned = 0;
    while (!work_queue_empty(q)) {
        struct work_queue_task* ended = work_queue_wait(q, 5);
        if (!ended) continue;
        ++returned;
        printf("Task %d has returned!\n", ended->taskid);
        CHECK(ended == t && ended->taskid == taskid && ended->return_status == 0);
        CHECK_TEXT(ended->output, "");
        CHECK_TEXT(ended->tag, "config-4.5.0");
        work_queue_task_delete(ended);
    }
    CHECK(returned == 1 && system("gzip -dc my-file.gz | cmp - my-file") == 0);
}

/* "Task Resources". */
static void task_resources(void) {
    struct work_queue_task* t = work_queue_task_create("echo $CORES");
    work_queue_task_specify_cores(t, 1);
    work_queue_task_specify_memory(t, 10);
    work_queue_task_specify_disk(t, 1);
    work_queue_task_specify_gpus(t, 0);
    work_queue_task_specify_running_time_max(t, 100);
    work_queue_task_specify_running_time_min(t, 10);
    run(t);
    CHECK(t->resources_requested->disk == 1 && t->resources_allocated->cores == 1 && t->return_status == 0);
    work_queue_task_delete(t);

    t = work_queue_task_create("exec tail -f /dev/null");
    work_queue_task_specify_running_time_max(t, 1);
    run(t);
    CHECK(t->result == WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME);
    work_queue_task_delete(t);
}

/* "Monitoring and Enforcement". What the manual's text says of the last argument is the other way round, here
 * as in CCTools. */
static void monitoring(void) {
    CHECK(work_queue_enable_monitoring(q, 0, 0) == 1);
    CHECK(work_queue_enable_monitoring(q, 0, 1) == 1);
    struct work_queue_task* t = run(work_queue_task_create("head -c 3000000 /dev/zero >zeros"));
    printf("Task used %f cores, %f MB memory, %f MB disk\n", t->resources_measured->cores,
           t->resources_measured->memory, t->resources_measured->disk);
    printf("Task was allocated %f cores, %f MB memory, %f MB disk\n", t->resources_requested->cores,
           t->resources_requested->memory, t->resources_requested->disk);
    CHECK(t->return_status == 0 && t->resources_measured->cores >= 0 && t->resources_measured->memory >= 1);
    CHECK(t->resources_measured->disk >= 2 && t->resources_measured->disk < 100);
    CHECK(t->resources_measured->wall_time > 0 && t->resources_measured->cpu_time >= 0);
    /* Of a process that has ended, which was too short to be looked at before, some kernels tell root alone.
     */
    const double written = t->resources_measured->bytes_written;
    CHECK(written >= 2 || (geteuid() != 0 && written == -1));
    CHECK(t->resources_measured->total_files >= 1);
    CHECK_TEXT(t->resources_measured->category, t->category);
    CHECK_TEXT(t->resources_measured->exit_type, "normal");
    CHECK(atoi(t->resources_measured->taskid) == t->taskid);
    CHECK(!t->limits_exceeded && !t->resources_measured->limits_exceeded);
    work_queue_task_specify_category(t, "another");
    CHECK_TEXT(t->resources_measured->category, "default");
    work_queue_task_delete(t);

    /* Nobody reads it: it holds its memory until it is ended. */
    t = work_queue_task_create("dd if=/dev/zero bs=400M count=1 | tail -f /dev/null");
    work_queue_task_specify_memory(t, 50);
    run(t);
    CHECK(t->result == WORK_QUEUE_RESULT_RESOURCE_EXHAUSTION && t->exhausted_attempts == 1);
    CHECK(t->limits_exceeded && t->limits_exceeded->memory == t->resources_allocated->memory);
    CHECK(t->limits_exceeded && t->limits_exceeded->cores == -1 && t->limits_exceeded->disk == -1);
    CHECK(t->resources_measured->limits_exceeded == t->limits_exceeded);
    CHECK(t->resources_measured->memory > 50 && strstr(t->reason, "MB of memory, its limit is ") != NULL);
    struct rmsummary* kept = rmsummary_copy(t->resources_measured, 1);
    work_queue_enable_monitoring(q, 0, 0);
    work_queue_task_specify_command(t, "dd if=/dev/zero bs=400M count=1 of=/dev/null");
    run(t);
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && !t->limits_exceeded);
    CHECK(t->resources_measured->memory >= 300);
    CHECK(kept->limits_exceeded && kept->limits_exceeded->memory >= 50);
    rmsummary_delete(kept);
    work_queue_task_delete(t);

    t = work_queue_task_create("head -c 3000000 /dev/zero >zeros; exit 3");
    work_queue_task_specify_monitor_output(t, "my-resources-output");
    CHECK_TEXT(t->monitor_output_directory, "my-resources-output");
    run(t);
    char name[100];
    sprintf(name, "my-resources-output/wq-%d-task-%d.summary", (int)getpid(), t->taskid);
    CHECK(is_there(name));
    const char* const wanted[] = {"\"exit_status\": 3", "\"category\": \"default\"",
                                  "\"cpu_time\"",       "\"wall_time\"",
                                  "\"disk\"",           "\"memory\"",
                                  "\"total_files\"",    "\"bytes_read\"",
                                  "\"bytes_written\"",  "\"total_processes\""};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i)
        if (!strstr(read_file(name), wanted[i])) CHECK_TEXT(read_file(name), wanted[i]);
    char check[200];
    sprintf(check,
            "python3 -c 'import json, sys; s = json.load(open(\"%s\")); sys.exit(s[\"disk\"][1] != \"MB\")'",
            name);
    CHECK(system(check) == 0);
    work_queue_task_delete(t);
}

/* "Grouping Tasks with Similar Resource Needs". The manual's calls lack the queue, and "category". */
static void categories(void) {
    struct rmsummary* ra = rmsummary_create(-1);
    ra->cores = 2;
    ra->memory = 1024;
    ra->disk = 20;
    work_queue_specify_category_max_resources(q, "my-category-a", ra);
    rmsummary_delete(ra);
    struct rmsummary* rb = rmsummary_create(-1);
    rb->cores = 1;
    work_queue_specify_category_max_resources(q, "my-category-b", rb);
    rmsummary_delete(rb);
    work_queue_specify_category_max_resources(q, "my-category-c", NULL);
    const char* const names[] = {"my-category-a", "my-category-b", "my-category-c"};
    const double cores[] = {2, 1, 2};
    for (int i = 0; i < 3; ++i) {
        struct work_queue_task* t = work_queue_task_create("echo $CORES");
        work_queue_task_specify_category(t, names[i]);
        run(t);
        CHECK_TEXT(t->category, names[i]);
        CHECK(t->resources_allocated->cores == cores[i] && atof(t->output) == cores[i]);
        CHECK(i != 0 || t->resources_allocated->memory >= 1024);
        work_queue_task_specify_cores(t, 1);
        run(t);
        CHECK(i == 0 || t->resources_allocated->cores == 1);
        struct work_queue_stats stats;
        work_queue_get_stats_category(q, names[i], &stats);
        CHECK(stats.tasks_done == 2);
        work_queue_task_delete(t);
    }
    char* status = work_queue_status(q, "categories");
    CHECK(strstr(status, "\"max_cores\":\"1\"") != NULL && strstr(status, "\"max_memory\":\"1024\"") != NULL);
    free(status);
}

/* "Automatic Resource Management". */
static void automatic(void) {
    work_queue_enable_monitoring(q, 0, 0);
    work_queue_specify_category_max_resources(q, "auto-a", NULL);
    CHECK(work_queue_specify_category_mode(q, "auto-a", WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT) == 1);
    struct rmsummary* r = rmsummary_create(-1);
    r->cores = 2;
    work_queue_specify_category_max_resources(q, "auto-b", r);
    CHECK(work_queue_specify_category_mode(q, "auto-b", WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT) == 1);
    CHECK(work_queue_specify_category_mode(q, "auto-c", WORK_QUEUE_ALLOCATION_MODE_QUANTIZED_BUCKETING) == 1);
    rmsummary_delete(r);
    r = rmsummary_create(-1);
    r->memory = 512;
    work_queue_specify_category_min_resources(q, "auto-a", r);
    rmsummary_delete(r);
    double first = 0, last = 0, memory = 0;
    for (int i = 0; i < 30; ++i) {
        struct work_queue_task* t = work_queue_task_create("true");
        work_queue_task_specify_category(t, "auto-a");
        run(t);
        if (i == 0) first = t->resources_allocated->cores;
        last = t->resources_allocated->cores;
        memory = t->resources_allocated->memory;
        work_queue_task_delete(t);
    }
    CHECK(first == 2 && last == 1 && memory >= 512);
    struct work_queue_task* t = work_queue_task_create("true");
    work_queue_task_specify_category(t, "auto-b");
    run(t);
    CHECK(t->resources_allocated->cores == 2);
    work_queue_task_delete(t);
}

/* "Pipelined Submission": as many as it wants, twice. */
static void pipelined(void) {
    int submitted = 0, returned = 0;
    while (submitted < 30 || !work_queue_empty(q)) {
        while (submitted < 30 && work_queue_hungry(q)) {
            work_queue_submit(q, work_queue_task_create("true"));
            ++submitted;
        }
        struct work_queue_task* t = work_queue_wait(q, 5);
        if (!t) continue;
        ++returned;
        work_queue_task_delete(t);
    }
    CHECK(submitted == 30 && returned == 30);
}

/* "Optional Output Files". */
static void optional_outputs(void) {
    for (int code = 0; code < 2; ++code) {
        char command[64];
        sprintf(command, "echo > debug.out; echo > result; exit %d", code);
        struct work_queue_task* t = work_queue_task_create(command);
        work_queue_task_specify_file(t, "debug.out", "debug.out", WORK_QUEUE_OUTPUT, WORK_QUEUE_FAILURE_ONLY);
        work_queue_task_specify_file(t, "result", "result", WORK_QUEUE_OUTPUT, WORK_QUEUE_SUCCESS_ONLY);
        run(t);
        CHECK(is_there("debug.out") == (code == 1) && is_there("result") == (code == 0));
        remove("result");
        work_queue_task_delete(t);
    }
}

/* "String Interpolation". */
static void platforms(void) {
    CHECK(system("printf '#!/bin/sh\\necho mine\\n' >my-executable.$(uname -s).$(uname -m)") == 0);
    CHECK(system("chmod +x my-executable.*") == 0);
    struct work_queue_task* t = work_queue_task_create("./my-exe");
    work_queue_task_specify_file(t, "my-executable.$OS.$ARCH", "./my-exe", WORK_QUEUE_INPUT,
                                 WORK_QUEUE_CACHE);
    run(t);
    CHECK_TEXT(t->output, "mine\n");
    work_queue_task_delete(t);
}

/* "Task Cancellations". */
static void cancellations(void) {
    struct work_queue_task* t = work_queue_task_create("exec tail -f /dev/null");
    work_queue_task_specify_tag(t, "my-tag");
    int taskid = work_queue_submit(q, t);
    CHECK(work_queue_cancel_by_taskid(q, taskid) == t);
    work_queue_submit(q, t);
    CHECK(work_queue_cancel_by_tasktag(q, "my-tag") == t && work_queue_empty(q));
    work_queue_task_delete(t);
}

/* "Performance Statistics", "Specialized and Experimental Settings". */
static void statistics(void) {
    struct work_queue_stats stats;
    work_queue_get_stats(q, &stats);
    printf("%d\n", stats.workers_connected);
    CHECK(stats.workers_connected == 1);
    CHECK(work_queue_tune(q, "hungry-minumum", 20) == 0 && work_queue_tune(q, "hungry-minimum", 20) == 0);
    CHECK(work_queue_hungry(q) == 20);
}

/* "Password Files", "Maximum Retries", "Logging facilities". */
static void a_queue_with_settings(void) {
    cctools_debug_flags_set("all");
    cctools_debug_config_file("my.debug.log");
    begin();
    write_file("mypwfile", "This is my password\n");
    CHECK(work_queue_specify_password_file(q, "mypwfile"));
    CHECK(work_queue_specify_log(q, "my.stats.log"));
    CHECK(work_queue_specify_transactions_log(q, "my.tr.log"));
    char port[16];
    sprintf(port, "%d", work_queue_port(q));
    const char* words[] = {"--password", "mypwfile", "localhost", port, NULL};
    worker = start_worker(words);
    struct work_queue_task* t = work_queue_task_create("true");
    work_queue_task_specify_max_retries(t, 5);
    CHECK(run(t)->try_count == 1 && t->max_retries == 5);
    work_queue_task_delete(t);
    end();
    CHECK(is_there("my.debug.log") && strstr(read_file("my.stats.log"), "workers_connected"));
    CHECK(system("grep -q 'TASK \\<1\\> DONE SUCCESS' my.tr.log") == 0);
    cctools_debug_flags_clear();
}

/* "SSL support", with the manual's openssl line but for the length of the key. */
static void ssl_support(void) {
    CHECK(
        system(
            "openssl req -x509 -newkey rsa:2048 -keyout MY_KEY.pem -out MY_CERT.pem -sha256 -days 365 -nodes "
            "-subj /CN=test >openssl.log 2>&1") == 0);
    q = work_queue_ssl_create(0, "MY_KEY.pem", "MY_CERT.pem");
    CHECK(q != NULL);
    if (!q) return;
    char port[16];
    sprintf(port, "%d", work_queue_port(q));
    const char* words[] = {"--ssl", "localhost", port, NULL};
    worker = start_worker(words);
    work_queue_task_delete(run(work_queue_task_create("true")));
    end();
}

/* "Project Names": in a registry of the test's own. */
static void project_name(void) {
    char here[4096];
    CHECK(getcwd(here, sizeof here) && setenv("WORK_QUEUE_REGISTRY", here, 1) == 0);
    begin();
    work_queue_specify_name(q, "myproject");
    const char* words[] = {"-M", "myproject", NULL};
    worker = start_worker(words);
    work_queue_task_delete(run(work_queue_task_create("true")));
    end();
}

int main(void) {
    enter_folder();
    creating_a_queue();
    begin();
    add_worker();
    standard_task();
    task_resources();
    monitoring();
    categories();
    automatic();
    pipelined();
    optional_outputs();
    platforms();
    cancellations();
    statistics();
    end();
    a_queue_with_settings();
    ssl_support();
    project_name();
    leave_folder();
    return verdict("manual");
}
