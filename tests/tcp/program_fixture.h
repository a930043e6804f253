// A program with its manager in this process, and TCP workers that run the same executable.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "work_queue/call.h"
#include "work_queue/manager.h"
#include "work_queue/worker.h"

namespace wq::testing {

class Program : public ::testing::Test {
  protected:
    explicit Program(std::uint64_t output_limit = 16u << 20) {  // more than workers keep by default
        std::string name = ::testing::TempDir() + "program-XXXXXX";
        folder_ = ::mkdtemp(name.data());
        wq::ManagerOptions options;
        options.port = 0;
        options.contact_file = folder_ + "/contact";
        options.output_limit = output_limit;
        options.transactions_log = folder_ + "/transactions.log";
        options.away_limit = 0;  // killed workers do not reconnect
        options.say = [](const std::string&) {};
        manager_.emplace(options);
    }
    ~Program() override {
        manager_.reset();
        for (const pid_t child : children_) stop(child, SIGTERM);
        // A killed worker's zygote removes that worker's folder at the same time.
        std::error_code error;
        do std::filesystem::remove_all(folder_, error);
        while (error == std::errc::no_such_file_or_directory);
    }

    pid_t start_worker() { return start_worker({"--contact", folder_ + "/contact"}); }
    // `environment`: NAME=VALUE, replaces our variable of that name.
    pid_t start_worker(std::vector<std::string> words, std::vector<std::string> environment = {}) {
        std::vector<std::string> before{"program_test", "worker"};
        const auto by_default = [&](const std::string& option, const std::string& value) {
            if (std::find(words.begin(), words.end(), option) == words.end())
                before.insert(before.end(), {option, value});
        };
        by_default("-s", folder_);
        by_default("--cores", "1");
        words.insert(words.begin(), before.begin(), before.end());
        return start("/proc/self/exe", std::move(words), std::move(environment));
    }
    pid_t start(const std::string& program, std::vector<std::string> words,
                std::vector<std::string> environment) {
        std::vector<char*> arguments, variables;
        for (std::string& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        for (std::string& variable : environment) variables.push_back(variable.data());
        for (char** variable = environ; *variable != nullptr; ++variable) {
            const std::string name = std::string(*variable).substr(0, std::string(*variable).find('=') + 1);
            const auto named = [&](const std::string& other) { return other.starts_with(name); };
            if (std::none_of(environment.begin(), environment.end(), named)) variables.push_back(*variable);
        }
        variables.push_back(nullptr);
        const pid_t child = ::fork();
        if (child == 0) {
            const int nothing = ::open("/dev/null", O_WRONLY);
            ::dup2(nothing, STDOUT_FILENO);
            ::execve(program.c_str(), arguments.data(), variables.data());
            ::_exit(127);
        }
        children_.insert(child);
        return child;
    }
    static void stop(pid_t child, int signal) {
        ::kill(child, signal);
        ::waitpid(child, nullptr, 0);
    }
    void kill_worker(pid_t child) {
        stop(child, SIGKILL);
        children_.erase(child);
    }

    std::string folder_;
    std::set<pid_t> children_;
    std::optional<wq::Manager> manager_;
};

}  // namespace wq::testing
