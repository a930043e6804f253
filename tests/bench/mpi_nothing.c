/* The least that an MPI program can do: what start-up is measured against. */
#include <mpi.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
