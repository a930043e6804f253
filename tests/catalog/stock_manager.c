/* A manager of CCTools' library, with a name: runs a task, and prints what it printed. */
#include <stdio.h>
#include <work_queue.h>

int main(int argc, char** argv) {
    struct work_queue* queue = argc == 2 ? work_queue_create(0) : NULL;
    if (!queue) return 64;
    work_queue_specify_name(queue, argv[1]);
    work_queue_submit(queue, work_queue_task_create("echo done"));
    struct work_queue_task* task = NULL;
    while (!task) task = work_queue_wait(queue, 1);
    fputs(task->output, stdout);
    work_queue_task_delete(task);
    work_queue_delete(queue);
    return 0;
}
