// Compresses the files named on the command line with tasks, in C++:
//   g++ -std=c++20 work_queue_example.cpp -o work_queue_example $(pkg-config --cflags --libs work_queue_cpp)
//   ./work_queue_example a b c &
//   work_queue_worker localhost 9123 --single-shot
#include <work_queue/manager.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

namespace {

// Quotes the name for a shell.
std::string quoted(const std::string& name) {
    const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    if (name.find_first_not_of(plain) == name.npos) return name;
    std::string result = "'";
    for (const char letter : name)
        if (letter == '\'')
            result += "'\\''";
        else
            result += letter;
    return result + "'";
}

// The task that makes FILE.gz from FILE. In its sandbox the file is in the top folder.
wq::Task gzip(const std::string& file) {
    const std::string remote = std::filesystem::path(file).filename();
    wq::Task task("/usr/bin/gzip < " + quoted(remote) + " > " + quoted(remote + ".gz"));
    task.input_file(file, remote).output_file(file + ".gz", remote + ".gz");
    return task;
}

// Uses Work Queue's port or, if that is in use, any other.
wq::ManagerOptions options(int port) {
    wq::ManagerOptions options;
    options.port = port;
    return options;
}
std::unique_ptr<wq::Manager> listen() {
    try {
        return std::make_unique<wq::Manager>(options(9123));
    } catch (const wq::SetupError&) {
        return std::make_unique<wq::Manager>(options(0));
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "Usage: work_queue_example FILE...\n";
        return 64;
    }
    try {
        const auto manager = listen();
        std::cout << "listening on port " << manager->port() << "...\n";
        int failed = 0;
        for (int i = 1; i < argc; ++i) {
            const wq::Task task = gzip(argv[i]);
            if (manager->submit(task) > 0) {
                std::cout << "submitted task: " << task.command() << "\n";
            } else {
                ++failed;
                std::cerr << argv[i] << ": " << manager->last_error() << "\n";
            }
        }
        std::cout << "waiting for tasks to complete..." << std::endl;

        while (!manager->empty()) {
            const auto task = manager->wait(5);
            if (!task) continue;
            if (!task->ok()) ++failed;
            std::cout << "task " << task->id() << (task->ok() ? " complete: " : " failed: ")
                      << task->command();
            if (!task->ok()) std::cout << ": " << task->result_str() << ", " << task->reason();
            std::cout << std::endl;
        }
        std::cout << (failed > 0 ? "some tasks failed" : "all tasks complete") << "\n";
        return failed > 0 ? 1 : 0;
    } catch (const wq::SetupError& error) {
        std::cerr << error.what() << "\n";
        return error.exit_code();
    }
}
