/* Tasks without a queue: their fields, their copies, and what is refused. */
#include <work_queue.h>

#include "support.h"

static void fields(void) {
    struct work_queue_task* t = work_queue_task_create("true");
    CHECK(t != NULL);
    CHECK_TEXT(t->command_line, "true");
    CHECK_TEXT(t->category, "default");
    CHECK(t->tag == NULL && t->output == NULL && t->taskid == 0 && t->priority == 0);
    CHECK(t->resources_requested->cores == -1 && t->resources_measured->memory == -1);
    CHECK(t->limits_exceeded == NULL);

    work_queue_task_specify_command(t, "false");
    work_queue_task_specify_tag(t, "a tag");
    work_queue_task_specify_category(t, "a category");
    work_queue_task_specify_priority(t, 2.5);
    work_queue_task_specify_cores(t, 2);
    work_queue_task_specify_memory(t, 512);
    work_queue_task_specify_disk(t, 1024);
    work_queue_task_specify_gpus(t, -7);
    work_queue_task_specify_max_retries(t, 5);
    work_queue_task_specify_running_time(t, 1500000);
    work_queue_task_specify_running_time_max(t, 100);
    work_queue_task_specify_running_time_min(t, 10);
    work_queue_task_specify_end_time(t, 0);
    work_queue_task_specify_start_time_min(t, 0);
    work_queue_task_specify_feature(t, "fast");
    work_queue_task_specify_algorithm(t, WORK_QUEUE_SCHEDULE_FILES);
    work_queue_task_specify_environment_variable(t, "NAME", "value");
    work_queue_task_specify_enviroment_variable(t, "OTHER", NULL);

    struct work_queue_task* copy = work_queue_task_clone(t);
    work_queue_task_delete(t);
    CHECK(copy != NULL);
    CHECK_TEXT(copy->command_line, "false");
    CHECK_TEXT(copy->tag, "a tag");
    CHECK_TEXT(copy->category, "a category");
    CHECK(copy->priority == 2.5 && copy->max_retries == 5 && copy->min_running_time == 10);
    CHECK(copy->resources_requested->cores == 2 && copy->resources_requested->memory == 512);
    CHECK(copy->resources_requested->disk == 1024 && copy->resources_requested->gpus == -1);
    CHECK(copy->worker_selection_algorithm == WORK_QUEUE_SCHEDULE_FILES);
    work_queue_task_specify_tag(copy, NULL);
    CHECK(copy->tag == NULL);
    work_queue_task_delete(copy);
    work_queue_task_delete(NULL);

    struct work_queue_task* empty = work_queue_task_create(NULL);
    CHECK(empty && empty->command_line == NULL);
    struct work_queue* q = work_queue_create(0);
    CHECK_REFUSED(work_queue_submit(q, empty), 0, "work_queue_submit: a task needs a command");
    work_queue_task_delete(empty);

    // Without the file it would not do what was meant.
    struct work_queue_task* lacking = work_queue_task_create("true");
    CHECK_REFUSED(work_queue_task_specify_file(lacking, "here", "/there", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE),
                  0, "work_queue_task_specify_file: a file cannot be '/there' in a sandbox");
    CHECK_REFUSED(work_queue_submit(q, lacking), 0,
                  "work_queue_submit: a file of the task was refused: a file");
    work_queue_task_delete(lacking);
    work_queue_delete(q);
}

static void files(void) {
    struct work_queue_task* t = work_queue_task_create("true");
    CHECK(work_queue_task_specify_file(t, "here", "there", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE) == 1);
    CHECK(work_queue_task_specify_file(t, "here", "./there", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE) == 1);
    CHECK_REFUSED(work_queue_task_specify_file(t, "other", "there", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: the task has another file named 'there'");
    CHECK_REFUSED(work_queue_task_specify_file(t, "here", "there", WORK_QUEUE_OUTPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: the task has another file named 'there'");
    CHECK_REFUSED(work_queue_task_specify_file(t, "here", "/there", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: a file cannot be '/there' in a sandbox");
    CHECK_REFUSED(work_queue_task_specify_file(t, "here", "a/../../b", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: a file cannot be 'a/../../b' in a sandbox");
    CHECK_REFUSED(work_queue_task_specify_file(t, NULL, "a", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: the local name is NULL");
    CHECK_REFUSED(work_queue_task_specify_file(t, "", "a", WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: the local name is empty");
    CHECK_REFUSED(work_queue_task_specify_file(t, "a", NULL, WORK_QUEUE_INPUT, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: the remote name is NULL");
    CHECK_REFUSED(work_queue_task_specify_file(t, "a", "a", (work_queue_file_type_t)7, WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_file: the type is neither");
    CHECK_REFUSED(work_queue_task_specify_file_piece(t, "a", "a", 0, 1, WORK_QUEUE_OUTPUT, WORK_QUEUE_CACHE),
                  0, "work_queue_task_specify_file_piece: a piece of a file can only be an input");
    CHECK_REFUSED(work_queue_task_specify_file_piece(t, "a", "a", 5, 1, WORK_QUEUE_INPUT, WORK_QUEUE_CACHE),
                  0, "work_queue_task_specify_file_piece: a piece needs 0 <=");
    CHECK_REFUSED(work_queue_task_specify_buffer(t, NULL, 1, "b", WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_buffer: the data is NULL");
    CHECK_REFUSED(work_queue_task_specify_buffer(t, "data", -1, "b", WORK_QUEUE_CACHE), 0,
                  "work_queue_task_specify_buffer: the length is negative");
    CHECK(work_queue_task_specify_buffer(t, NULL, 0, "b", WORK_QUEUE_NOCACHE) == 1);
    CHECK(work_queue_task_specify_buffer(t, "", 0, "./b", WORK_QUEUE_NOCACHE) == 1);
    CHECK_REFUSED(work_queue_task_specify_buffer(t, "other", 5, "b", WORK_QUEUE_NOCACHE), 0,
                  "work_queue_task_specify_buffer: the task has another file named 'b'");
    work_queue_task_delete(t);
}

static int created_void(struct work_queue_task* t) {
    work_queue_task_specify_cores(t, 1);
    return 0;
}
static int deleted_void(struct work_queue_task* t) {
    work_queue_task_delete(t);
    return 0;
}

static void misuse(void) {
    CHECK_REFUSED(created_void(NULL), 0, "work_queue_task_specify_cores: the task is NULL");
    CHECK_REFUSED(work_queue_task_clone(NULL), NULL, "work_queue_task_clone: the task is NULL");
    struct work_queue_task* gone = work_queue_task_create("true");
    work_queue_task_delete(gone);
    CHECK_REFUSED(created_void(gone), 0,
                  "work_queue_task_specify_cores: this is not a task, or it was deleted");
    CHECK_REFUSED(deleted_void(gone), 0, "work_queue_task_delete: this is not a task, or it was deleted");
}

static void names(void) {
    CHECK_TEXT(work_queue_result_str(WORK_QUEUE_RESULT_SUCCESS), "SUCCESS");
    CHECK_TEXT(work_queue_result_str(WORK_QUEUE_RESULT_INPUT_MISSING), "INPUT_MISS");
    CHECK_TEXT(work_queue_result_str(WORK_QUEUE_RESULT_TASK_TIMEOUT), "END_TIME");
    CHECK_TEXT(work_queue_result_str(WORK_QUEUE_RESULT_OUTPUT_TRANSFER_ERROR), "OUTPUT_TRANSFER_ERROR");
    CHECK_TEXT(work_queue_result_str((work_queue_result_t)5), "UNKNOWN");
}

int main(void) {
    enter_folder();
    fields();
    files();
    misuse();
    names();
    leave_folder();
    return verdict("tasks");
}
