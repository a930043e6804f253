// The tables of tasks and workers that all policies share, and how far the run is. A policy reads all of
// them, and writes those that it names in its class (engine/policies/policy.h). A fact that only one policy
// needs is a member of that policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/attempts/pool_state.h"
#include "engine/attempts/reactor_options.h"
#include "engine/model/batches.h"
#include "engine/model/copy_table.h"
#include "engine/model/events.h"
#include "engine/model/groups.h"
#include "engine/model/ledger.h"
#include "engine/model/run_times.h"
#include "engine/model/shunned_hosts.h"
#include "engine/model/task_category.h"
#include "engine/model/worker_table.h"

namespace wq::engine::attempts {

using namespace engine::model;  // its values and tables are what this folder is about

// One value per shape, created on first access.
template <class T>
class PerShape {
  public:
    T& operator[](ShapeId shape) {
        if (shape.value() >= values_.size()) values_.resize(shape.value() + 1);
        return values_[shape.value()];
    }
    // Null if it was never accessed.
    const T* find(ShapeId shape) const {
        return shape.value() < values_.size() ? &values_[shape.value()] : nullptr;
    }

  private:
    std::vector<T> values_;
};

struct CategoryState {
    Category category{""};
    std::vector<ShapeId> shapes;
};

// The settings and measurements of each category, and the resources that its tasks ask for.
struct Categories {
    CategoryState& operator[](CategoryId category) {
        if (category.value() >= known.size()) known.resize(category.value() + 1);
        return known[category.value()];
    }
    // Null if neither the category nor its tasks were mentioned.
    const Category* find(CategoryId category) const {
        return category.value() < known.size() ? &known[category.value()].category : nullptr;
    }

    std::vector<CategoryState> known;  // by CategoryId
    std::vector<CategoryId> limited;   // that limit how many of their tasks run at once
    std::vector<Ask> asks;             // by ShapeId: what tasks ask for (own or category's request)
};

// How far the run is: whether its task list has ended, and what keeps tasks from being dispatched.
class RunPhase {
  public:
    explicit RunPhase(std::uint32_t hold_until_workers) : hold_until_workers_(hold_until_workers) {}

    bool input_ended() const { return input_ended_; }
    bool stopping() const { return stopping_; }
    bool storage_trouble() const { return storage_trouble_; }
    bool may_dispatch() const { return !stopping_ && !storage_trouble_; }
    // So many workers must be connected at once before the first task is dispatched; 0: no need to wait.
    std::uint32_t hold_until_workers() const { return hold_until_workers_; }

    void end_input() { input_ended_ = true; }
    void stop() { stopping_ = true; }
    void note(const StorageTrouble& trouble) { storage_trouble_ = trouble.now; }
    void hold_until(std::uint32_t workers) { hold_until_workers_ = workers; }

  private:
    bool input_ended_ = false;
    bool stopping_ = false;
    bool storage_trouble_ = false;
    std::uint32_t hold_until_workers_;
};

struct State {
    State(const ReactorOptions& said, Instant started)
        : options(said), pool(said, started), run(said.hold_until_workers) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const Shape& shape_of(TaskId task) const { return ledger.shape(ledger.shape_of(task)); }
    CategoryId category_of(TaskId task) const { return shape_of(task).category; }
    const Ask& asked(ShapeId shape) const { return categories.asks[shape.value()]; }
    // Of a category that has tasks.
    const Category& category(CategoryId id) const { return categories.known[id.value()].category; }
    // Whether the worker may claim tickets of the open batch.
    bool may_claim(const Worker& worker) const {
        return batch && batch->members.contains(worker.id) && !batch->dry.contains(worker.id);
    }
    std::size_t connected_workers() const { return workers.size() - workers.disconnected_count(); }

    // The first contradiction among its tables, recomputed from scratch.
    std::optional<std::string> audit() const;

    ReactorOptions options;
    PoolState pool;
    RunPhase run;

    Ledger ledger;
    Groups groups;
    WorkerTable workers;
    HostBlocks blocks;
    AvoidedHosts avoided{ledger, workers};
    CopyTable copies;
    Categories categories;
    PerShape<model::MeanWallTime> mean_wall;
    std::vector<ShapeId> awakened;  // shapes whose ready tasks may have become runnable
    std::optional<Batch> batch;     // one at a time
    IntervalSet doubtful;           // a lost rank may have claimed them: not sealed again
};

}  // namespace wq::engine::attempts
