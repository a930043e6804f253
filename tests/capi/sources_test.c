/* Inputs from elsewhere than files, outputs that are watched, hosts that are blocked, tasks that take too
 * long. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <work_queue.h>

#include "support.h"

static struct work_queue* q;
static struct work_queue_task* never; /* submitted: what is refused of one keeps it from that */

static struct work_queue_task* run(struct work_queue_task* t) {
    CHECK(work_queue_submit(q, t) > 0);
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t);
    return t;
}

static void folders(void) {
    CHECK(mkdir("folder", 0777) == 0 && mkdir("folder/below", 0777) == 0);
    write_file("folder/below/file", "deep\n");
    struct work_queue_task* t = work_queue_task_create("cp -r in out; ls -A empty; touch out/made");
    CHECK(work_queue_task_specify_directory(t, "folder", "in", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE, 1) == 1);
    CHECK(work_queue_task_specify_directory(t, NULL, "empty", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE, 0) == 1);
    CHECK(work_queue_task_specify_directory(t, "result", "out", WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE, 1) ==
          1);
    CHECK_REFUSED(
        work_queue_task_specify_directory(never, NULL, "x", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE, 1), 0,
        "work_queue_task_specify_directory: the local name is NULL");
    run(t);
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && t->return_status == 0);
    CHECK_TEXT(t->output, "");
    CHECK_TEXT(read_file("result/below/file"), "deep\n");
    CHECK(is_there("result/made"));
    work_queue_task_delete(t);
}

static void commands(void) {
    struct work_queue_task* t = work_queue_task_create("cat said made");
    CHECK(work_queue_task_specify_file_command(t, "echo by stdout", "said", WORK_QUEUE_INPUT,
                                               WORK_QUEUE_CACHE));
    CHECK(work_queue_task_specify_file_command(t, "echo by name >%%", "made", WORK_QUEUE_INPUT,
                                               WORK_QUEUE_NOCACHE));
    CHECK_REFUSED(
        work_queue_task_specify_file_command(never, "true", "x", WORK_QUEUE_OUTPUT, WORK_QUEUE_CACHE), 0,
        "work_queue_task_specify_file_command: the result of a command can only be an input");
    CHECK_REFUSED(work_queue_task_specify_file_command(never, NULL, "x", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE),
                  0, "work_queue_task_specify_file_command: the command is NULL");
    CHECK_TEXT(run(t)->output, "by stdout\nby name\n");
    work_queue_task_delete(t);
    t = work_queue_task_create("true");
    work_queue_task_specify_file_command(t, "false", "x", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
    CHECK(run(t)->result == WORK_QUEUE_RESULT_INPUT_MISSING);
    work_queue_task_delete(t);
}

/* Answers /data with a text, and everything else with 404; its port. */
static pid_t serve(int* port) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at;
    socklen_t bytes = sizeof at;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(listener, (struct sockaddr*)&at, sizeof at) == 0 && listen(listener, 10) == 0);
    CHECK(getsockname(listener, (struct sockaddr*)&at, &bytes) == 0);
    *port = ntohs(at.sin_port);
    const pid_t server = fork();
    if (server > 0) {
        close(listener);
        return server;
    }
    for (;;) {
        char request[4096];
        const int client = accept(listener, NULL, NULL);
        const ssize_t read_bytes = read(client, request, sizeof request - 1);
        request[read_bytes > 0 ? read_bytes : 0] = '\0';
        const char* answer = strncmp(request, "GET /data ", 10) == 0
                                 ? "HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\nfetched\n"
                                 : "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        if (write(client, answer, strlen(answer)) < 0) _exit(1);
        close(client);
    }
}

static void urls(void) {
    int port = 0;
    const pid_t server = serve(&port);
    char url[64];
    sprintf(url, "http://127.0.0.1:%d/data", port);
    struct work_queue_task* t = work_queue_task_create("cat data");
    CHECK(work_queue_task_specify_url(t, url, "data", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE) == 1);
    CHECK_REFUSED(work_queue_task_specify_url(never, url, "x", WORK_QUEUE_OUTPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_url: a URL can only be an input");
    CHECK_REFUSED(work_queue_task_specify_url(never, NULL, "x", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_url: the URL is NULL");
    CHECK_TEXT(run(t)->output, "fetched\n");
    work_queue_task_delete(t);
    t = work_queue_task_create("cat data");
    strcat(url, "-not-there");
    CHECK(work_queue_task_specify_url(t, url, "data", WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE) == 1);
    CHECK(run(t)->result == WORK_QUEUE_RESULT_INPUT_MISSING);
    work_queue_task_delete(t);
    end_worker(server);
}

static void watched(void) {
    char here[4096], command[5000];
    CHECK(getcwd(here, sizeof here) && mkfifo("go", 0666) == 0);
    snprintf(command, sizeof command, "echo first > log; cat '%s/go'; echo second >> log", here);
    struct work_queue_task* t = work_queue_task_create(command);
    CHECK(work_queue_task_specify_file(t, "log", "log", WORK_QUEUE_OUTPUT, WORK_QUEUE_WATCH) == 1);
    CHECK(work_queue_submit(q, t) > 0);
    for (int seconds = 0; seconds < 90 && strcmp(read_file("log"), "first\n") != 0; ++seconds)
        CHECK(work_queue_wait(q, 1) == NULL);
    CHECK_TEXT(read_file("log"), "first\n");
    write_file("go", "");
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t && t->return_status == 0);
    CHECK_TEXT(read_file("log"), "first\nsecond\n");
    work_queue_task_delete(t);
}

static void blocked_hosts(void) {
    struct work_queue_task* t = run(work_queue_task_create("true"));
    char* host = strdup(t->hostname);
    work_queue_blacklist_add(q, host);
    CHECK(work_queue_submit(q, t) > 0 && work_queue_wait(q, 1) == NULL);
    work_queue_unblock_host(q, host);
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t);
    work_queue_block_host_with_timeout(q, host, 1);
    CHECK(work_queue_submit(q, t) > 0 && work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t);
    work_queue_block_host(q, host);
    work_queue_blacklist_clear(q);
    run(t);
    struct work_queue_stats s;
    work_queue_get_stats(q, &s);
    CHECK(s.workers_blocked >= 1 && s.workers_blacklisted == s.workers_blocked);
    CHECK_REFUSED((work_queue_block_host(q, NULL), 0), 0,
                  "work_queue_block_host: the name of the host is NULL or empty");
    free(host);
    work_queue_task_delete(t);
}

/* The first attempt of a task hangs, the second does not. */
static void fast_abort(void) {
    CHECK_REFUSED(work_queue_activate_fast_abort(NULL, 2), 1,
                  "work_queue_activate_fast_abort: the queue is NULL");
    CHECK(work_queue_activate_fast_abort(q, 0) == 1 && work_queue_activate_fast_abort(q, 2) == 0);
    CHECK(work_queue_activate_fast_abort_category(q, "others", 3) == 0);
    CHECK(work_queue_activate_fast_abort_category(q, "others", 0) == 1);
    CHECK(work_queue_activate_fast_abort_category(q, "others", -1) == 0);
    for (int i = 0; i < 12; ++i) work_queue_task_delete(run(work_queue_task_create("true")));
    char here[4096], command[5000];
    CHECK(getcwd(here, sizeof here));
    snprintf(command, sizeof command, "mkdir '%s/begun' && exec tail -f /dev/null; echo at last", here);
    struct work_queue_task* t = run(work_queue_task_create(command));
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && t->try_count == 2);
    CHECK(strstr(t->output, "at last\n") != NULL);
    struct work_queue_stats s;
    work_queue_get_stats(q, &s);
    CHECK(s.workers_fast_aborted == 1);
    work_queue_task_delete(t);
}

int main(void) {
    enter_folder();
    q = work_queue_create(0);
    CHECK(q != NULL);
    work_queue_block_host(q, "before it begins");
    const pid_t worker = start_worker_at(work_queue_port(q));
    never = work_queue_task_create("true");
    folders();
    commands();
    urls();
    watched();
    blocked_hosts();
    fast_abort();
    work_queue_task_delete(never);
    work_queue_delete(q);
    end_worker(worker);
    leave_folder();
    return verdict("sources");
}
