#include "worker/staged_tasks.h"

#include "worker/manager_link.h"

namespace wq::worker {

namespace {

// If this many tasks in a row find no workspace, and the launcher has not died, somebody has removed it.
constexpr int most_folders_gone = 20;

}  // namespace

void StagedTasks::welcome(const net::messages::Welcome& message) {
    own_folders_ = message.directory.empty();
    sees_files_ = sees_file(message.mark_path, message.mark);
    if (sees_files_) link_.send_message(net::messages::SharesFiles{});
}

void StagedTasks::begin_streams_anew() {
    if (files_) files_->begin_streams_anew();
}

bool StagedTasks::must_stage(const net::messages::Lease& lease) const {
    return (lease.files && !sees_files_) || (own_folders_ && !lease.call && background_ != nullptr);
}

void StagedTasks::stage(const net::messages::Lease& lease) {
    if (background_ == nullptr) {
        node::launcher::TaskEnded ended{lease.task, lease.attempt, {}, {}};
        engine::model::set_not_started(ended.outcome, "this worker does not accept tasks with files");
        return held_.answer_end(ended);
    }
    if (!files_)
        files_.emplace(
            *background_, launcher_.scratch(),
            [this](const net::messages::Message& message) { link_.send_if_welcomed(message); }, kept_cache_);
    net::messages::Lease with_files = lease;
    if (!with_files.files) with_files.files.emplace();
    files_->stage(std::move(with_files));
}

void StagedTasks::handle_events() {
    if (background_ != nullptr) background_->finish();
    if (!files_) return;
    for (WorkerFiles::Event& event : files_->next()) std::visit([&](auto& known) { on_event(known); }, event);
}

void StagedTasks::on_event(const WorkerFiles::Staged& staged) {
    if (takes_no_more_) return give_back({staged.lease.task, staged.lease.attempt});
    requests_.begin(staged.lease, staged.sandbox);
}

void StagedTasks::on_event(WorkerFiles::Make& input) {
    if (takes_no_more_) return give_back({input.lease.task, input.lease.attempt});
    requests_.make(input);
}

void StagedTasks::on_event(const WorkerFiles::Unable& unable) {
    if (!unable.folder_gone || ++folders_gone_ == most_folders_gone)
        requests_.leave("it cannot prepare files of tasks: " + unable.why);
    held_.give_back(unable.key);
}

bool StagedTasks::handle_end(node::launcher::TaskEnded& end) {
    if (!files_) return false;
    const Key key{end.task, end.attempt};
    const WorkerFiles::Phase phase = files_->phase_of(key);
    if (phase != WorkerFiles::Phase::making && phase != WorkerFiles::Phase::running) return false;
    if (end.outcome.ending == engine::model::Ending::killed) {
        end.outcome.files = files_->times_of(key);
        files_->drop(key);  // what it left is incomplete, and it runs again
        return false;
    }
    if (phase == WorkerFiles::Phase::making)
        files_->made(std::move(end));
    else
        files_->deliver(std::move(end));
    return true;
}

void StagedTasks::give_back(Key key) {
    if (files_) files_->drop(key);
    held_.give_back(key);
}

std::uint64_t StagedTasks::recall(std::uint64_t most) {
    std::uint64_t count = 0;
    if (!files_) return count;
    for (const Key& key : files_->all_last_first()) {
        if (count == most) break;
        if (files_->phase_of(key) != WorkerFiles::Phase::staging) continue;
        give_back(key);
        ++count;
    }
    return count;
}

// Returns tasks that have not started. A task that has ended, and still sends its outputs, counts as killed.
void StagedTasks::kill(const std::function<bool(Key)>& which) {
    if (!files_) return;
    for (const Key& key : files_->all_last_first()) {
        const WorkerFiles::Phase phase = files_->phase_of(key);
        if (!which(key) || phase == WorkerFiles::Phase::running) continue;
        if (phase == WorkerFiles::Phase::making) {
            files_->kill(key);
            continue;
        }
        if (phase == WorkerFiles::Phase::staging) {
            give_back(key);
            continue;
        }
        node::launcher::TaskEnded ended{key.first, key.second, {}, {}};
        ended.outcome.ending = engine::model::Ending::killed;
        ended.outcome.files = files_->times_of(key);
        files_->drop(key);
        held_.answer_end(ended);
    }
}

void StagedTasks::lose(const std::string& why, const std::function<void(Key)>& lost) {
    folders_gone_ = 0;
    if (!files_) return;
    for (const Key& key : files_->all_last_first()) {
        if (files_->phase_of(key) == WorkerFiles::Phase::staging) {
            held_.give_back(key);
            continue;
        }
        lost(key);
        if (held_.contains(key)) held_.answer_loss(key, why);
    }
    files_.reset();
}

void StagedTasks::send_watched(Instant now) {
    if (files_) files_->send_watched(now);
}

}  // namespace wq::worker
