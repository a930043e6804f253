// The part of Worker that starts leased tasks, with and without files.
#include <cstdlib>

#include "files/task_files.h"
#include "process/fetch_url.h"
#include "taskfile/sources.h"
#include "worker/worker.h"

namespace wq::worker {

namespace {

// If this many tasks in a row find no workspace, and the launcher has not died, somebody has removed it.
constexpr int most_folders_gone = 20;

// Appends the line to the wrapper as one word, or puts it in place of its `{}`.
std::string wrapped(const std::string& wrapper, const std::string& line) {
    std::string word = "'";
    for (const char c : line) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    word += "'";
    const std::size_t braces = wrapper.find("{}");
    if (braces == std::string::npos) return wrapper + " /bin/sh -c " + word;
    return wrapper.substr(0, braces) + word + wrapper.substr(braces + 2);
}

// Bash's `export -f` exports functions under such names; only a shell finds them.
bool is_exported_function(const std::string& name) {
    return std::getenv(("BASH_FUNC_" + name + "%%").c_str()) != nullptr;
}

}  // namespace

void Worker::run(const wire::Lease& message, bool ticket) {
    const Key key{message.task, message.attempt};
    if (!held_.emplace(key, ticket).second) return;
    if (leaving_) return give_back(key);
    if ((message.files && !shares_files_) || (own_folders_ && !message.call && background_ != nullptr))
        return stage(message);
    begin(message, "");
}

void Worker::begin(const wire::Lease& lease, const std::string& sandbox) {
    if (lease.call && (lease.call->mode != core::CallMode::fork || !options_.forks_calls)) return call(lease);
    process::Order order = order_of(lease);
    if (!sandbox.empty()) {
        order.directory = sandbox;
        order.variables.emplace_back("WORK_QUEUE_SANDBOX", sandbox);
    }
    launcher_.run(std::move(order));
}

process::Order Worker::order_of(const wire::Lease& lease) const {
    process::Order order;
    order.task = lease.task;
    order.attempt = lease.attempt;
    order.give = lease.give;
    order.timeout = lease.timeout;
    order.watch = lease.watch;
    order.environment_position = lease.environment_position;
    order.text = options_.wrapper.empty() ? lease.text : wrapped(options_.wrapper, lease.text);
    if (lease.call)
        order.call = process::Call{lease.call->function, lease.call->arguments};
    else if (lease.environment_position == 0 && !taskfile::needs_shell(order.text))
        order.argv = taskfile::split_words(order.text);
    if (!order.argv.empty() && is_exported_function(order.argv.front())) order.argv.clear();
    order.output_limit = output_limit_;
    if (over_tcp()) order.variables.emplace_back("WORKERID", std::to_string(id_.value()));
    order.variables.insert(order.variables.end(), lease.variables.begin(), lease.variables.end());
    if (!options_.index_variable.empty())
        for (const auto& [name, value] : lease.variables)
            if (name == taskfile::index_variable_name)
                order.variables.emplace_back(options_.index_variable, value);
    return order;
}

// ---- with files ----

void Worker::stage(const wire::Lease& lease) {
    if (background_ == nullptr) {
        launcher::TaskEnded ended{lease.task, lease.attempt, {}, {}};
        core::set_not_started(ended.outcome, "this worker does not accept tasks with files");
        return answer_end(ended);
    }
    if (!files_)
        files_.emplace(
            *background_, launcher_.scratch(),
            [this](const wire::Message& message) {
                if (!over_tcp() || welcomed_) say(message);
            },
            options_.kept_cache);
    wire::Lease with_files = lease;
    if (!with_files.files) with_files.files.emplace();
    files_->stage(std::move(with_files));
}

void Worker::take_file_events() {
    if (background_ != nullptr) background_->finish();
    if (!files_) return;
    for (WorkerFiles::Event& event : files_->next()) {
        if (const auto* staged = std::get_if<WorkerFiles::Staged>(&event)) {
            if (!goes_back(staged->lease)) begin(staged->lease, staged->sandbox);
        } else if (auto* input = std::get_if<WorkerFiles::Make>(&event)) {
            if (!goes_back(input->lease)) make(*input);
        } else if (auto* ended = std::get_if<launcher::TaskEnded>(&event)) {
            answer_end(*ended);
        } else {
            const auto& unable = std::get<WorkerFiles::Unable>(event);
            if (!unable.folder_gone || ++folders_gone_ == most_folders_gone)
                begin_to_leave("it cannot prepare files of tasks: " + unable.why);
            give_back(unable.key);
        }
    }
}

// A leaving worker starts no more tasks.
bool Worker::goes_back(const wire::Lease& lease) {
    if (!leaving_) return false;
    const Key key{lease.task, lease.attempt};
    files_->drop(key);
    give_back(key);
    return true;
}

void Worker::make(WorkerFiles::Make& input) {
    const bool fetches = input.kind == wire::InputKind::url;
    input.lease.call.reset();
    input.lease.text = fetches ? "" : files::command_into(input.from, input.path);
    process::Order order = order_of(input.lease);
    if (fetches) {
        order.argv.clear();
        order.timeout = Duration{0};  // fetch_timeout limits it
        order.call = process::call_of({input.from, input.path, options_.fetch_timeout});
    }
    order.directory = input.folder;
    order.variables.emplace_back("WORK_QUEUE_SANDBOX", input.folder);
    launcher_.run(std::move(order));
}

std::uint64_t Worker::recall_staging(std::uint64_t most) {
    std::uint64_t count = 0;
    if (!files_) return count;
    for (const Key& key : files_->all_last_first()) {
        if (count == most) break;
        if (files_->place_of(key) != WorkerFiles::Place::staging) continue;
        files_->drop(key);
        give_back(key);
        ++count;
    }
    return count;
}

// Returns tasks that have not started. A task that has ended, and still sends its outputs, counts as killed.
void Worker::kill_in_files(const std::function<bool(Key)>& which) {
    if (!files_) return;
    for (const Key& key : files_->all_last_first()) {
        const WorkerFiles::Place place = files_->place_of(key);
        if (!which(key) || place == WorkerFiles::Place::running) continue;
        if (place == WorkerFiles::Place::making) {
            files_->kill(key);
            continue;
        }
        files_->drop(key);
        if (place == WorkerFiles::Place::staging) {
            give_back(key);
            continue;
        }
        launcher::TaskEnded ended{key.first, key.second, {}, {}};
        ended.outcome.ending = core::Ending::killed;
        answer_end(ended);
    }
}

// Sandboxes are in the launcher's folder, and were removed with it.
void Worker::lose_files(const std::string& why) {
    folders_gone_ = 0;
    if (!files_) return;
    for (const Key& key : files_->all_last_first()) {
        if (files_->place_of(key) == WorkerFiles::Place::staging)
            give_back(key);
        else if (held_.contains(key))
            answer_loss(key, why);
    }
    files_.reset();
}

}  // namespace wq::worker
