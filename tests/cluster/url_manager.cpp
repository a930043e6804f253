// url_manager CONTACT URL: runs a task that reads this URL, and one that prints the worker's system; prints
// their output, or why they failed.
#include <cstdio>

#include "work_queue/manager.h"

int main(int argc, char** argv) {
    if (argc != 3) return 64;
    wq::ManagerOptions options;
    options.port = 0;
    options.contact_file = argv[1];
    wq::Manager manager(options);
    manager.submit(wq::Task("cat text").tag("url").input_url(argv[2], "text"));
    manager.submit(wq::Task("grep CODENAME /usr/lib/os-release").tag("system"));
    while (const auto task = manager.wait())
        std::printf("%s: %s\n", task->tag().c_str(), (task->ok() ? task->output() : task->reason()).c_str());
}
