#include "files/transfers/file_transfers.h"

namespace wq::files::transfers {

FileTransfers::FileTransfers(Background& background, TellWorker tell,
                             std::function<void(const Transfer&)> each)
    : jobs_(background),
      tally_(std::move(each)),
      preparation_(jobs_),
      inputs_(jobs_, tally_, tell),
      outputs_(jobs_, tally_, tell) {}

void FileTransfers::prepare(WorkerId worker, TaskId task, Attempt attempt,
                            std::shared_ptr<const trees::TaskFiles> files,
                            std::function<void(const Prepared&)> then) {
    drop(task, attempt);
    const LeaseKey key{task, attempt};
    of_worker_[worker].insert(key);
    outputs_.open(worker, key, files);
    leases_[key] = {worker, preparation_.prepare(files, [this, worker, key, files,
                                                         then = std::move(then)](const Prepared& result) {
                        prepared(worker, key, files, result);
                        then(result);
                    })};
}

void FileTransfers::prepared(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files,
                             const Prepared& result) {
    const auto* const lease = std::get_if<net::messages::LeaseFiles>(&result);
    if (lease == nullptr) return drop(key.first, key.second);
    leases_.at(key).preparation.reset();
    std::vector<std::string> keys;
    for (const net::messages::InputFile& input : lease->inputs) {
        keys.push_back(input.kind == net::messages::InputKind::content ? input.key : std::string());
        if (!input.content) continue;
        tally_.sent(input.content->size());
        tally_.count({key.first, true, false, input.name, input.content->size(), Duration{0}});
    }
    inputs_.open(worker, key, std::move(files), std::move(keys));
}

void FileTransfers::expect_streams(WorkerId worker, TaskId task, Attempt attempt, std::uint64_t limit) {
    const LeaseKey key{task, attempt};
    if (leases_.try_emplace(key, Lease{worker, nullptr}).second) of_worker_[worker].insert(key);
    outputs_.expect_streams(worker, key, limit);
}

// ---- ends ----

FileTransfers::Leases::iterator FileTransfers::end(Leases::iterator lease) {
    const LeaseKey key = lease->first;
    const auto worker = of_worker_.find(lease->second.worker);
    if (worker->second.erase(key); worker->second.empty()) of_worker_.erase(worker);
    if (lease->second.preparation) InputPreparation::drop(*lease->second.preparation);
    const auto next = leases_.erase(lease);
    outputs_.close(key);
    inputs_.close(key);  // this may send more to other leases, but ends none
    return next;
}

void FileTransfers::drop(TaskId task, Attempt attempt) {
    if (const auto found = leases_.find({task, attempt}); found != leases_.end()) end(found);
}

void FileTransfers::drop_if_of(WorkerId worker, TaskId task, Attempt attempt) {
    const auto found = leases_.find({task, attempt});
    if (found != leases_.end() && found->second.worker == worker) end(found);
}

void FileTransfers::drop(Interval tasks) {
    auto found = leases_.lower_bound({TaskId(tasks.first), 0});
    while (found != leases_.end() && found->first.first.value() < tasks.end) found = end(found);
}

std::vector<LeaseKey> FileTransfers::drop(WorkerId worker) {
    std::vector<LeaseKey> keys;
    if (const auto found = of_worker_.find(worker); found != of_worker_.end())
        keys.assign(found->second.begin(), found->second.end());
    for (const LeaseKey& key : keys) drop(key.first, key.second);
    inputs_.left(worker);
    return keys;
}

void FileTransfers::cut(WorkerId worker) {
    const auto found = of_worker_.find(worker);
    const std::set<LeaseKey> keys = found != of_worker_.end() ? found->second : std::set<LeaseKey>{};
    for (const LeaseKey& key : keys) outputs_.cut(key);
    inputs_.cut(worker, keys);
}

}  // namespace wq::files::transfers
