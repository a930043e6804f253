// A reactor run whose tasks belong to a category and are measured.
#pragma once

#include "unit/engine/policies/run_fixture.h"

namespace wq::engine::policies {

inline constexpr CategoryId analysis{1};

class CategoriesRun : public RunFixture {
  protected:
    void SetUp() override {
        ReactorOptions start{.max_losses = 0, .expected_workers = 0, .wait_for_fitting = true};
        start.allocation.rest = Rest::proportional;
        start.monitoring = {.measures = true, .enforces = true};
        options(start);
    }
    void say(CategorySet what) {
        what.category = analysis;
        event(what);
        forget_actions();
    }
    void add_asking(std::uint64_t count, const Needs& needs = {}) {
        Shape shape;
        shape.needs = needs;
        shape.category = analysis;
        event(TasksAdded{{TaskId(reactor_.ledger().size()), count, std::move(shape), {}}, {}, {}});
    }
    void join_with(std::uint32_t worker, const Resources& offers) {
        event(WorkerJoined{WorkerId(worker), "node" + std::to_string(worker), offers, {}});
    }
    void measured(std::uint32_t worker, std::uint64_t task, Attempt attempt, const Usage& usage) {
        Outcome outcome;
        outcome.wall_us = 5'000'000;
        outcome.measured.emplace().usage = usage;
        report(worker, task, attempt, outcome);
    }
    void exhausts_memory(std::uint32_t worker, std::uint64_t task, Attempt attempt, std::int64_t used) {
        Outcome outcome;
        outcome.ending = Ending::out_of_memory;
        outcome.measured.emplace().usage.memory = used;
        outcome.measured->exceeded.memory_mb = given(task).memory_mb;
        report(worker, task, attempt, outcome);
    }
    Resources given(std::uint64_t task) const {
        return reactor_.ledger().find_attempted(TaskId(task))->given;
    }
    std::uint64_t running() const { return reactor_.ledger().count(TaskState::leased); }
    void forget_actions() {
        take([](const std::string&) {});
    }
};

}  // namespace wq::engine::policies
