/** @file work_queue_mpi.h The ranks of an MPI job as workers of a queue.
 *
 *      int main(void) {
 *          struct work_queue_mpi *ranks = work_queue_mpi_start(WORK_QUEUE_MPI_ALL_WORK);
 *          if (!ranks) return 69;
 *          if (work_queue_mpi_rank(ranks) > 0) return work_queue_mpi_serve(ranks);
 *          struct work_queue *q = work_queue_mpi_create(ranks, WORK_QUEUE_MPI_NO_PORT);
 *          ...
 *          work_queue_delete(q);
 *          work_queue_mpi_finish(ranks);
 *      }
 *
 * Compiled as any C program and linked with `-lwork_queue_mpi` in place of `-lwork_queue`; started by mpirun
 * or srun, or alone, which is a job of one rank. A rank that is lost costs its tasks nothing: they run
 * elsewhere. */
#ifndef WORK_QUEUE_MPI_H
#define WORK_QUEUE_MPI_H

#include "work_queue.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** This process as a rank of its job. */
struct work_queue_mpi;

/** Who of the ranks works. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_MPI_ALL_WORK = 0,    /**< All of them; rank 0 does besides it manages. */
    WORK_QUEUE_MPI_MANAGER_ONLY = 1 /**< All but rank 0. */
} work_queue_mpi_mode_t;

/** For work_queue_mpi_create(): the ranks work alone, and no others may join them. */
#define WORK_QUEUE_MPI_NO_PORT -2

/** Starts MPI; on all ranks, first thing in main(), before there is any thread, and once only. A program that
 * makes MPI calls of its own has called MPI_Init_thread() before, with MPI_THREAD_SERIALIZED at least; MPI is
 * the ranks' then until work_queue_mpi_finish(). NULL where MPI cannot be used: the process is to exit then.
 */
struct work_queue_mpi* work_queue_mpi_start(work_queue_mpi_mode_t mode);

/** Number of this rank, from 0. -1: no ranks. */
int work_queue_mpi_rank(struct work_queue_mpi* ranks);

/** How many ranks the job has. 0: no ranks. */
int work_queue_mpi_size(struct work_queue_mpi* ranks);

/** On ranks but 0: runs tasks until rank 0 has deleted its queue, or is gone. Finishes the ranks, which are
 * not to be used any more. Returns what main() is to return: 0, or 75 where the manager was lost; 70: it
 * could not work. */
int work_queue_mpi_serve(struct work_queue_mpi* ranks);

/** On rank 0: a queue whose workers are the ranks, and those who connect to @p port, which is that of
 * work_queue_create(), or @ref WORK_QUEUE_MPI_NO_PORT. One queue for all ranks: NULL for a second one. */
struct work_queue* work_queue_mpi_create(struct work_queue_mpi* ranks, int port);

/** On rank 0, once its queue is deleted: lets the other ranks go. NULL does nothing. MPI is finalized when
 * the process exits, unless it is the program's. */
void work_queue_mpi_finish(struct work_queue_mpi* ranks);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
