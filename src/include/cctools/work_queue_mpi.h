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
 * Link with `-lwork_queue_mpi` instead of `-lwork_queue`. Start the program with mpirun or srun, or alone as
 * a job of one rank. Tasks of a lost rank run elsewhere. */
#ifndef WORK_QUEUE_MPI_H
#define WORK_QUEUE_MPI_H

#ifdef SWIG
%include "work_queue.h"
#else
#include "work_queue.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** This process as a rank of the job. */
struct work_queue_mpi;

/** Which ranks run tasks. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_MPI_ALL_WORK = 0,    /**< All; rank 0 also manages. */
    WORK_QUEUE_MPI_MANAGER_ONLY = 1 /**< All except rank 0. */
} work_queue_mpi_mode_t;

/** For work_queue_mpi_create(): only ranks are workers. */
#define WORK_QUEUE_MPI_NO_PORT -2

/** Starts MPI. Call it once on all ranks, first in main(), before any thread starts. A program with its own
 * MPI calls must first call MPI_Init_thread() with at least MPI_THREAD_SERIALIZED, and must not call MPI
 * again until work_queue_mpi_finish(). NULL if MPI cannot be used: exit then. */
struct work_queue_mpi* work_queue_mpi_start(work_queue_mpi_mode_t mode);

/** Number of this rank, from 0; -1: @p ranks is invalid. */
int work_queue_mpi_rank(struct work_queue_mpi* ranks);

/** Number of ranks of the job; 0: @p ranks is invalid. */
int work_queue_mpi_size(struct work_queue_mpi* ranks);

/** On ranks other than 0: runs tasks until rank 0 deletes its queue or is lost. It also finishes @p ranks; do
 * not use it afterwards. Returns the exit code for main(): 0, 75 if the manager was lost, 70 if it could not
 * work. */
int work_queue_mpi_serve(struct work_queue_mpi* ranks);

/** On rank 0: creates a queue whose workers are the ranks and those that connect to @p port (as for
 * work_queue_create(), or @ref WORK_QUEUE_MPI_NO_PORT ). NULL for a second queue. */
struct work_queue* work_queue_mpi_create(struct work_queue_mpi* ranks, int port);

/** On rank 0, after its queue is deleted: dismisses the other ranks. NULL does nothing. MPI is finalized when
 * the process exits, unless the program started MPI. */
void work_queue_mpi_finish(struct work_queue_mpi* ranks);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
