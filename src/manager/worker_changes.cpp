#include "manager/worker_changes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace wq::manager {

namespace {

// The worker whose standing the event changes.
std::optional<WorkerId> subject_of(const engine::model::Event& event) {
    if (const auto* const draining = std::get_if<engine::model::WorkerDraining>(&event))
        return draining->worker;
    if (const auto* const cut = std::get_if<engine::model::WorkerDisconnected>(&event)) return cut->worker;
    if (const auto* const back = std::get_if<engine::model::WorkerReconnected>(&event)) return back->worker;
    return std::nullopt;
}

std::string why_of(const engine::model::Event& event) {
    if (const auto* const cut = std::get_if<engine::model::WorkerDisconnected>(&event)) return cut->why;
    const auto* const draining = std::get_if<engine::model::WorkerDraining>(&event);
    if (draining == nullptr || !draining->on) return "";
    return draining->made_to ? "the manager releases it" : "it leaves by itself";
}

std::string why_excluded(const std::vector<engine::model::Action>& actions, const std::string& host) {
    for (const engine::model::Action& action : actions)
        if (const auto* const excluded = std::get_if<engine::model::HostExcluded>(&action))
            if (excluded->host == host) return excluded->why;
    return "the program has blocked its host";
}

}  // namespace

void WorkerChanges::joined(const records::journal::WorkerRecord& worker) {
    record(worker.worker, Change::joined, "", worker.joined_us);
    if (router_.reactor().blocked_hosts().find(worker.host) != nullptr)
        record(worker.worker, Change::excluded, "its host was excluded before", worker.joined_us);
}

void WorkerChanges::left(WorkerId worker, const std::string& why, engine::model::Now now) {
    record(worker, Change::left, why, now.wall);
}

WorkerChanges::Standing WorkerChanges::standing_of(WorkerId id) const {
    const engine::model::Worker* const worker = router_.reactor().workers().find(id);
    return worker == nullptr ? Standing{} : Standing{worker->draining, worker->disconnected()};
}

WorkerChanges::Standing WorkerChanges::standing_before(const engine::model::Event& event) const {
    const auto subject = subject_of(event);
    return subject ? standing_of(*subject) : Standing{};
}

void WorkerChanges::note(const engine::model::Event& event, Standing before,
                         const std::vector<engine::model::Action>& actions, engine::model::Now now) {
    const auto subject = subject_of(event);
    if (subject && router_.reactor().workers().find(*subject) != nullptr) {
        const Standing after = standing_of(*subject);
        const std::string why = why_of(event);
        if (after.draining != before.draining)
            record(*subject, after.draining ? Change::draining : Change::stays, why, now.wall);
        if (after.disconnected != before.disconnected)
            record(*subject, after.disconnected ? Change::disconnected : Change::back, why, now.wall);
    }
    if (router_.reactor().blocked_hosts().version() != hosts_version_) note_hosts(actions, now);
}

// Disconnected workers of a host are excluded with the others: they are so if they come back.
void WorkerChanges::note_hosts(const std::vector<engine::model::Action>& actions, engine::model::Now now) {
    const engine::model::HostBlocks& blocks = router_.reactor().blocked_hosts();
    std::set<std::string> excluded;
    for (const auto& [host, block] : blocks.all()) {
        if (!excluded_.contains(host)) record_host(host, Change::excluded, why_excluded(actions, host), now);
        excluded.insert(host);
    }
    for (const std::string& host : excluded_)
        if (!excluded.contains(host)) record_host(host, Change::admitted, "", now);
    excluded_ = std::move(excluded);
    hosts_version_ = blocks.version();
}

void WorkerChanges::record_host(const std::string& host, Change change, const std::string& why,
                                engine::model::Now now) {
    const std::set<WorkerId>* const there = router_.reactor().workers().of_host(host);
    if (there == nullptr) return;
    for (const WorkerId worker : *there) record(worker, change, why, now.wall);
}

void WorkerChanges::record(WorkerId worker, Change change, const std::string& why, WallMicros time) {
    recorder_.worker_changed({time, worker, change, why});
}

}  // namespace wq::manager
