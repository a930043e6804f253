// A worker over TCP and its links: one after the other, to the same manager or to another.
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

// A mark is short, and lies in a plain file: whatever else the path leads to is none.
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
        forgotten_ = has_manager();  // it is another one, or was started anew
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
    say(wire::Beat{});  // we have the token: from now on a cut is no end
    answers_.forget(message.answers_received);
    for (const AnswerLog::Answer& kept : answers_.kept()) outbox_->put_encoded(kept.message);
    if (leaving_) say(wire::Draining{});
    if (files_) files_->begin_streams_anew();
}

// The launcher is begun anew, so that nothing of what it was told can be taken for the next manager's.
Status Worker::forget_manager() {
    token_.clear();
    // The one that may still keep a place for us would take us for our double.
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
