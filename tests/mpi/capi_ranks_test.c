/* A C manager whose ranks work. `manager_only`: rank 0 does not; `port`: workers over TCP might join;
 * `no_queue`: rank 0 never has one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work_queue_factory.h"
#include "work_queue_mpi.h"

static int failed = 0;
#define CHECK(what)                                                   \
    do {                                                              \
        if (!(what)) {                                                \
            ++failed;                                                 \
            fprintf(stderr, "FAILED line %d: %s\n", __LINE__, #what); \
        }                                                             \
    } while (0)

static struct work_queue_task* squared(int number) {
    char command[64];
    sprintf(command, "echo $((%d * %d))", number, number);
    return work_queue_task_create(command);
}

static void sum(struct work_queue* q) {
    for (int i = 1; i <= 100; ++i) CHECK(work_queue_submit(q, squared(i)) == i);
    long total = 0;
    while (!work_queue_empty(q)) {
        struct work_queue_task* t = work_queue_wait(q, 5);
        if (!t) continue;
        CHECK(t->result == WORK_QUEUE_RESULT_SUCCESS && t->return_status == 0);
        total += atol(t->output);
        work_queue_task_delete(t);
    }
    CHECK(total == 338350);
}

/* Files travel to ranks as they do over TCP. */
static void files(struct work_queue* q) {
    struct work_queue_task* t = work_queue_task_create("cat in > out");
    char output[64], text[16] = "";
    snprintf(output, sizeof output, "/tmp/capi-ranks-%d", (int)getpid());
    work_queue_task_specify_buffer(t, "a text\n", 7, "in", WORK_QUEUE_CACHE);
    work_queue_task_specify_file(t, output, "out", WORK_QUEUE_OUTPUT, WORK_QUEUE_NOCACHE);
    work_queue_submit(q, t);
    CHECK(work_queue_wait(q, WORK_QUEUE_WAITFORTASK) == t && t->result == WORK_QUEUE_RESULT_SUCCESS);
    FILE* made = fopen(output, "r");
    CHECK(made && fgets(text, sizeof text, made) && strcmp(text, "a text\n") == 0);
    if (made) fclose(made);
    remove(output);
    work_queue_task_delete(t);
}

static void misuse(struct work_queue_mpi* ranks) {
    fprintf(stderr, "five lines of misuse:\n");
    CHECK(work_queue_mpi_rank(NULL) == -1 && work_queue_mpi_size(NULL) == 0);
    CHECK(work_queue_mpi_serve(ranks) == 70);
    CHECK(work_queue_mpi_create(ranks, WORK_QUEUE_MPI_NO_PORT) == NULL);
    work_queue_mpi_finish(ranks); /* its queue is there */
    CHECK(work_queue_mpi_size(ranks) > 0);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    const int manager_only = strcmp(what, "manager_only") == 0;
    struct work_queue_mpi* ranks =
        work_queue_mpi_start(manager_only ? WORK_QUEUE_MPI_MANAGER_ONLY : WORK_QUEUE_MPI_ALL_WORK);
    if (!ranks) return 69;
    if (work_queue_mpi_rank(ranks) > 0) return work_queue_mpi_serve(ranks);
    const int size = work_queue_mpi_size(ranks);
    if (strcmp(what, "no_queue") == 0) {
        work_queue_mpi_finish(ranks);
        return failed;
    }
    const int port = strcmp(what, "port") == 0;
    struct work_queue* q = work_queue_mpi_create(ranks, port ? 0 : WORK_QUEUE_MPI_NO_PORT);
    CHECK(q && (work_queue_port(q) > 0) == port);
    if (!q) return 69;
    if (!port) CHECK(work_queue_factory_create(q, "local") == NULL);
    sum(q);
    files(q);
    struct work_queue_stats s;
    work_queue_get_stats(q, &s);
    CHECK(s.workers_connected == (manager_only ? size - 1 : size));
    misuse(ranks);
    work_queue_delete(q);
    work_queue_mpi_finish(ranks);
    work_queue_mpi_finish(NULL);
    printf("%d ranks: %d failed\n", size, failed);
    return failed ? 1 : 0;
}
