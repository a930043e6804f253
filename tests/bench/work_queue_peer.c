/* The peer "Work Queue 9.9": a manager that submits COUNT equal tasks and waits for all of them.
 * work_queue_peer COUNT COMMAND [FILE once|cached]; each brings FILE along. Prints its port, at which a
 * work_queue_worker has to be started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <work_queue.h>

int main(int argc, char** argv) {
    if (argc != 3 && argc != 5) return 64;
    struct work_queue* queue = work_queue_create(0);
    if (!queue) return 69;
    work_queue_specify_keepalive_interval(queue, 0);
    printf("%d\n", work_queue_port(queue));
    fclose(stdout);
    const int count = atoi(argv[1]);
    for (int i = 0; i < count; ++i) {
        struct work_queue_task* task = work_queue_task_create(argv[2]);
        work_queue_task_specify_cores(task, 1);
        work_queue_task_specify_memory(task, 1);
        work_queue_task_specify_disk(task, 1);
        if (argc == 5)
            work_queue_task_specify_file(
                task, argv[3], "in", WORK_QUEUE_INPUT,
                strcmp(argv[4], "cached") == 0 ? WORK_QUEUE_CACHE : WORK_QUEUE_NOCACHE);
        work_queue_submit(queue, task);
    }
    int failed = 0;
    while (!work_queue_empty(queue)) {
        struct work_queue_task* task = work_queue_wait(queue, 5);
        if (!task) continue;
        failed += task->return_status != 0;
        work_queue_task_delete(task);
    }
    work_queue_delete(queue);
    return failed ? 1 : 0;
}
