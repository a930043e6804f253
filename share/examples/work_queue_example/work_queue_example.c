/* Compresses the files of its command line by tasks, in C:
 *   gcc work_queue_example.c -o work_queue_example $(pkg-config --cflags --libs work_queue)
 *   ./work_queue_example a b c &
 *   work_queue_worker localhost 9123 --single-shot */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work_queue.h"

/* The name as a shell reads it; to be freed. */
static char* quoted(const char* name) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    char* result = malloc(4 * strlen(name) + 3);
    if (strspn(name, plain) == strlen(name)) return strcpy(result, name);
    char* end = result;
    *end++ = '\'';
    for (; *name; ++name) {
        const char* as = *name == '\'' ? "'\\''" : (char[]){*name, '\0'};
        end = stpcpy(end, as);
    }
    strcpy(end, "'");
    return result;
}

/* The task that makes FILE.gz of FILE, here. In its sandbox the file has no folders in front of it. */
static struct work_queue_task* gzip(const char* file) {
    char* path = strdup(file);
    char* target = malloc(strlen(file) + 4);
    char* remote_target = malloc(strlen(file) + 4);
    const char* remote = basename(path);
    sprintf(target, "%s.gz", file);
    sprintf(remote_target, "%s.gz", remote);

    char* from = quoted(remote);
    char* to = quoted(remote_target);
    char* command = malloc(strlen(from) + strlen(to) + 32);
    sprintf(command, "/usr/bin/gzip < %s > %s", from, to);
    struct work_queue_task* task = work_queue_task_create(command);
    work_queue_task_specify_file(task, file, remote, WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE);
    work_queue_task_specify_file(task, target, remote_target, WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE);

    free(command), free(from), free(to), free(remote_target), free(target), free(path);
    return task;
}

int main(int argc, char** argv) {
    if (argc < 2) {
        fprintf(stderr, "Usage: work_queue_example FILE...\n");
        return 64;
    }
    struct work_queue* queue = work_queue_create(WORK_QUEUE_DEFAULT_PORT);
    if (!queue) queue = work_queue_create(WORK_QUEUE_RANDOM_PORT); /* it is in use: any other will do */
    if (!queue) return 69;
    printf("listening on port %d...\n", work_queue_port(queue));

    int failed = 0;
    for (int i = 1; i < argc; ++i) {
        struct work_queue_task* task = gzip(argv[i]);
        if (work_queue_submit(queue, task) > 0) {
            printf("submitted task: %s\n", task->command_line);
        } else { /* which has said why */
            ++failed;
            work_queue_task_delete(task);
        }
    }
    printf("waiting for tasks to complete...\n");
    fflush(stdout);

    while (!work_queue_empty(queue)) {
        struct work_queue_task* task = work_queue_wait(queue, 5);
        if (!task) continue;
        if (task->result == WORK_QUEUE_RESULT_SUCCESS && task->return_status == 0) {
            printf("task %d complete: %s\n", task->taskid, task->command_line);
        } else {
            ++failed;
            printf("task %d failed: %s: %s, %s\n", task->taskid, task->command_line,
                   work_queue_result_str(task->result), task->reason);
        }
        fflush(stdout);
        work_queue_task_delete(task);
    }
    work_queue_delete(queue);
    printf("%s\n", failed ? "some tasks failed" : "all tasks complete");
    return failed ? 1 : 0;
}
