// A program's manager with fake workers beside it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/program_manager.h"
#include "unit/api/fake_worker.h"

namespace wq::testing {

class ProgramTest : public ::testing::Test {
  protected:
    // Lines are made before the manager starts; add_worker() puts a worker at the end of the next.
    void start(std::size_t lines, api::ProgramManagerOptions options = {}) {
        for (std::size_t i = 0; i < lines; ++i) {
            net::frames::TransportPair pair =
                net::frames::open_transport_pair("the manager", "a worker").or_throw();
            options.wires.push_back({std::move(pair.first), false});
            free_ends_.push_back(std::move(pair.second));
        }
        options.ranks = static_cast<std::uint32_t>(lines) + 1;
        if (!options.say)
            options.say = [this](const std::string& line) {
                const std::lock_guard lock(said_mutex_);
                said_.push_back(line);
            };
        program_ = api::ProgramManager::start(std::move(options)).or_throw();
    }
    FakeWorker& add_worker(FakeWorkerOptions options = {}, FakeWorker::Answer answer = {}) {
        std::unique_ptr<net::frames::Transport> end = std::move(free_ends_.front());
        free_ends_.erase(free_ends_.begin());
        workers_.push_back(
            std::make_unique<FakeWorker>(std::move(end), std::move(options), std::move(answer)));
        return *workers_.back();
    }
    // 0 and false: error_ has the reason.
    std::int64_t submit(Task task) {
        const auto id = program_->submit(std::move(task));
        if (!id) error_ = id.error().message;
        return id ? *id : 0;
    }
    bool tune(const std::string& name, double value) {
        const Status set = program_->tune(name, value);
        if (!set) error_ = set.error().message;
        return set.ok();
    }
    // Waits for so long that only a fault ends it.
    std::optional<Task> wait() { return program_->wait(std::chrono::seconds(60)); }
    std::string said() {
        const std::lock_guard lock(said_mutex_);
        std::string all;
        for (const std::string& line : said_) all += line + "\n";
        return all;
    }

    std::string error_;
    std::mutex said_mutex_;
    std::vector<std::string> said_;
    std::vector<std::unique_ptr<net::frames::Transport>> free_ends_;
    std::unique_ptr<api::ProgramManager> program_;
    std::vector<std::unique_ptr<FakeWorker>> workers_;
};

}  // namespace wq::testing
