// work_queue_worker: see cli/worker_options.cpp for what it takes and share/doc for what it does.
#include "cli/worker_program.h"

int main(int argc, char** argv) {
    return wq::cli::worker_main(argc, argv);
}
