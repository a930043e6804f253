// work_queue_worker: programs/worker/worker_options.cpp has its options, share/doc its documentation.
#include "programs/worker/worker_program.h"

int main(int argc, char** argv) {
    return wq::programs::worker::worker_main(argc, argv);
}
