// Records what changes of a worker while it is part of the run: the line of each core that it offers, at each
// moment, follows from it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/model/events.h"
#include "manager/router.h"
#include "records/recorder/recorder.h"

namespace wq::manager {

class WorkerChanges {
  public:
    WorkerChanges(records::recorder::Recorder& recorder, Router& router)
        : recorder_(recorder), router_(router) {}

    // Before the reactor hears of it.
    void joined(const records::journal::WorkerRecord& worker);
    void left(WorkerId worker, const std::string& why, engine::model::Now now);

    // How the worker that an event is about stands before the reactor has it; for other events: as nobody.
    struct Standing {
        bool draining = false;
        bool disconnected = false;
    };
    Standing standing_before(const engine::model::Event& event) const;
    // The reactor has answered the event with these actions, which are not performed yet.
    void note(const engine::model::Event& event, Standing before,
              const std::vector<engine::model::Action>& actions, engine::model::Now now);

  private:
    using Change = records::journal::WorkerChange;
    Standing standing_of(WorkerId worker) const;
    void note_hosts(const std::vector<engine::model::Action>& actions, engine::model::Now now);
    void record_host(const std::string& host, Change change, const std::string& why, engine::model::Now now);
    void record(WorkerId worker, Change change, const std::string& why, WallMicros time);

    records::recorder::Recorder& recorder_;
    Router& router_;
    std::set<std::string> excluded_;   // hosts, as recorded
    std::uint64_t hosts_version_ = 0;  // of what `excluded_` was made of
};

}  // namespace wq::manager
