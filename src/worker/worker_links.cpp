// The part of Worker that handles links over TCP: one after the other, to the same manager or to another.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "session/session_table.h"
#include "worker/worker.h"

namespace wq::worker {

namespace {

constexpr Duration kill_limit = std::chrono::seconds(5);

// Whether the manager's mark is in the file. A mark is short and in a regular file; anything else at the path
// is not a mark.
bool sees(const std::string& path, const std::string& mark) {
    const Descriptor file(
        path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    std::array<char, 64> found;
    const ssize_t size = ::read(file.get(), found.data(), found.size());
    return size > 0 && std::string_view(found.data(), static_cast<std::size_t>(size)) == mark + "\n";
}

}  // namespace

Worker::Worker(WorkerOptions options, launcher::Launcher& launcher, launcher::FunctionRunner* functions,
               Background* background)
    : options_(std::move(options)),
      launcher_(launcher),
      tickets_(nullptr),
      functions_(functions),
      background_(background) {}

void Worker::connect(net::Transport& transport, net::PeerId manager, Instant now) {
    disconnect();
    outbox_.emplace(transport, manager);
    expected_ = true;
    start(now);
}

void Worker::disconnect() {
    outbox_.reset();
    welcomed_ = babbled_ = false;
    refused_.reset();
    dismissed_.reset();
}

void Worker::on_message(const wire::Welcome& message) {
    output_limit_ = std::min(message.output_limit, core::most_output_limit);
    if (!over_tcp() || welcomed_) return;
    if (message.resume != token_) {
        forgotten_ = has_manager();  // another manager, or a restarted one
        if (forgotten_ && !forget_manager()) return;
        token_ = message.resume;
        expected_ = true;
    }
    welcomed_ = true;
    id_ = message.worker;
    grace_ = message.grace;
    launcher_.enter(message.directory);
    own_folders_ = message.directory.empty();
    shares_files_ = sees(message.mark_path, message.mark);
    if (shares_files_) say(wire::SharesFiles{});
    options_.index_variable = message.index_variable;
    say(wire::Beat{});  // we have the token: from now on we can reconnect
    answers_.forget(message.answers_received);
    for (const AnswerLog::Answer& kept : answers_.kept()) outbox_->put_encoded(kept.message);
    if (leaving_) say(wire::Draining{});
    if (files_) files_->begin_streams_anew();
}

// Restarts the launcher, so that old orders cannot be mistaken for those of the next manager.
Status Worker::forget_manager() {
    token_.clear();
    // The old manager may still keep a place for us, and would mistake us for a duplicate.
    if (over_tcp()) options_.hello.identity = session::random_token();
    expected_ = false;
    answers_ = {};
    const bool had_work = !held_.empty() || last_environment_ > 0;
    held_.clear();
    last_environment_ = 0;
    if (!had_work) return success();
    files_.reset();
    signalled_ends_ = {};
    if (functions_ != nullptr) functions_->forget(kill_limit);
    const Status again = launcher_.begin_anew(options_.launcher, kill_limit);
    if (!again) {
        ended_ = broken_ = true;
        why_leaving_ = again.error().message;
    }
    return again;
}

}  // namespace wq::worker
