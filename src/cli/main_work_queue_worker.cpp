// work_queue_worker: cli/worker_options.cpp has its options, share/doc its documentation.
#include "cli/worker_program.h"

int main(int argc, char** argv) {
    return wq::cli::worker_main(argc, argv);
}
