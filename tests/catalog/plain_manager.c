/* A manager that is open to all: prints its port, has two tasks, and ends with standard input. */
#include <poll.h>
#include <stdio.h>
#include <work_queue.h>

static void submit(struct work_queue* q, const char* command, const char* category, int cores) {
    struct work_queue_task* t = work_queue_task_create(command);
    work_queue_task_specify_cores(t, cores);
    work_queue_task_specify_category(t, category);
    work_queue_task_specify_tag(t, "a tag");
    work_queue_submit(q, t);
}

int main(void) {
    struct work_queue* q = work_queue_create(0);
    if (!q) return 64;
    work_queue_specify_name(q, "plain");
    submit(q, "sleep 600 # first", "big", 2);
    submit(q, "sleep 600 # second", "default", 1);
    printf("%d\n", work_queue_port(q));
    fflush(stdout);
    struct pollfd end = {0, POLLIN, 0};
    while (poll(&end, 1, 0) == 0) work_queue_wait(q, 1);
    work_queue_delete(q);
    return 0;
}
