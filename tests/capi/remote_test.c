/* Remote tasks of a C program. */
#include <work_queue.h>
#include "support.h"

static struct work_queue_task* remote(const char* function, const char* event) {
    struct work_queue_task* t = work_queue_task_create(function);
    work_queue_task_specify_coprocess(t, "arithmetic");
    if (event) work_queue_task_specify_buffer(t, event, (int)strlen(event), "infile", WORK_QUEUE_NOCACHE);
    return t;
}

static struct work_queue_task* end_of(struct work_queue* q, struct work_queue_task* t) {
    CHECK(work_queue_submit(q, t) > 0);
    CHECK(work_queue_wait(q, 60) == t);
    return t;
}

int main(void) {
    enter_folder();
    write_file("functions.py",
               "def name():\n    return 'arithmetic'\n"
               "def my_sum(x, y):\n    return x + y\n"
               "def here():\n    import os\n    return sorted(os.listdir('.'))\n");
    char command[5000];
    snprintf(command, sizeof command,
             "'%s' --src functions.py --function my_sum --function here --dest coprocess.py",
             getenv("SERVERIZE"));
    CHECK(system(command) == 0);
    struct work_queue* q = work_queue_create(0);
    char port[16];
    snprintf(port, sizeof port, "%d", work_queue_port(q));
    const char* words[] = {"localhost", port, "--coprocess", "coprocess.py", "--num_coprocesses", "1", NULL};
    const pid_t worker = start_worker(words);

    struct work_queue_task* t =
        end_of(q, remote("my_sum", "{\"fn_args\": [1, 2], \"remote_task_exec_method\": \"direct\"}"));
    CHECK_TEXT(t->output, "{\"Result\": 3, \"StatusCode\": 200}");
    CHECK_TEXT(t->coprocess, "arithmetic");
    CHECK_TEXT(t->command_line, "my_sum");
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && t->return_status == 0);
    end_of(q, t); /* once more */
    CHECK_TEXT(t->output, "{\"Result\": 3, \"StatusCode\": 200}");
    work_queue_task_delete(t);

    t = end_of(q, remote("my_sum", NULL));
    CHECK(t->output && strstr(t->output, "\"StatusCode\": 500}") && strstr(t->output, "missing 2 required"));
    CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && t->return_status == 1);
    work_queue_task_delete(t);

    t = remote("here", "{}");
    work_queue_task_specify_buffer(t, "abc", 3, "other", WORK_QUEUE_NOCACHE);
    end_of(q, t);
    CHECK_TEXT(t->output, "{\"Result\": [\"other\"], \"StatusCode\": 200}");
    struct work_queue_task* copy = work_queue_task_clone(t);
    work_queue_task_delete(t);
    end_of(q, copy);
    CHECK_TEXT(copy->output, "{\"Result\": [\"other\"], \"StatusCode\": 200}");
    work_queue_task_delete(copy);

    end_worker(worker);
    work_queue_delete(q);
    leave_folder();
    return verdict("remote");
}
