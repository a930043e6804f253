/* A small MPI program that shows that the hosts of tests/cluster work, apart from any of our own commands.
 * mpi_probe CODE          rank 0 prints one line per rank, "rank R of N on HOST", and all leave with CODE
 * mpi_probe hold FOLDER   every rank makes FOLDER/rank.R and then waits until it is killed
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void report(int rank, int size) {
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    char* all = rank == 0 ? calloc((size_t)size, MPI_MAX_PROCESSOR_NAME) : NULL;
    MPI_Gather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0,
               MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; ++i)
        printf("rank %d of %d on %s\n", i, size, all + (size_t)i * MPI_MAX_PROCESSOR_NAME);
    free(all);
}

static int hold(int rank, const char* folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/rank.%d", folder, rank);
    FILE* file = fopen(path, "w");
    if (!file) {
        perror(path);
        return 1;
    }
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    for (;;) pause();
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3 && strcmp(argv[1], "hold") == 0) return hold(rank, argv[2]);
    report(rank, size);
    MPI_Finalize();
    return argc == 2 ? atoi(argv[1]) : 64;
}
