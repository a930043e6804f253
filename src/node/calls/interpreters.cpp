#include "node/calls/interpreters.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "node/process/python.h"
#include "node/process/spawn.h"

namespace wq::node::calls {

namespace {

constexpr std::size_t most_places = 4;
constexpr int most_failures = 3;
// A start, with imports from a busy file system, may take long.
constexpr Duration stuck_limit = std::chrono::seconds(120);
constexpr Duration unpacking_limit = std::chrono::hours(2);
constexpr Duration unused_limit = std::chrono::minutes(10);

// A file in the worker's cache stays the same, and is linked into the folder of each task.
std::string name_of(const struct stat& file) {
    return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino) + ":" +
           std::to_string(file.st_size) + ":" + std::to_string(file.st_mtim.tv_sec) + "." +
           std::to_string(file.st_mtim.tv_nsec);
}

// How long its first answer, or the next one, may take.
Duration limit_of(const Interpreter& interpreter, bool unpacks) {
    return unpacks && !interpreter.ready() ? unpacking_limit : stuck_limit;
}

// For the end of a message about an interpreter that cannot be used.
std::string remedy(bool packed) {
    if (packed) return {};
    const std::string chooser = process::chooser_of_python();
    if (chooser.empty()) return "; the worker's WORK_QUEUE_PYTHON may name another";
    return chooser + ": set it to a Python 3.9 or later that has cloudpickle, or unset it";
}

}  // namespace

Interpreters::Interpreters(std::vector<std::string> environment, std::string path, const rlimit* files,
                           process::Poller& poller, Listener& listener)
    : environment_(std::move(environment)),
      path_(std::move(path)),
      files_(files),
      poller_(poller),
      listener_(listener) {}

void Interpreters::start(const PythonCall& call, std::unique_ptr<Request> request) {
    if (!call.environment.empty()) {
        Descriptor archive(open((request->directory + "/" + call.environment).c_str(), O_RDONLY | O_CLOEXEC));
        struct stat facts {};
        if (!archive.valid() || fstat(archive.get(), &facts) != 0)
            return refuse(std::move(request), "its environment " + call.environment + ": " + strerror(errno),
                          process::shortage(errno) != nullptr ? Refusal::may_pass : Refusal::lasting);
        KeptInterpreter& kept = kept_for(name_of(facts), call.environment, request->fresh);
        if (!kept.interpreter) kept.archive = std::move(archive);
        return send(kept, std::move(request));
    }
    const std::string file = find_python(call, path_);
    if (file.empty())
        return refuse(std::move(request),
                      "no Python here: neither python" + call.version +
                          " nor python3 is in PATH; install one, or set WORK_QUEUE_PYTHON for the worker",
                      Refusal::lasting);
    KeptInterpreter& kept = kept_for(file, file, request->fresh);
    send(kept, std::move(request));
}

Interpreters::KeptInterpreter& Interpreters::kept_for(const std::string& key, const std::string& name,
                                                      bool fresh) {
    for (const auto& kept : kept_)
        if (kept->key == key && kept->fresh == fresh) return *kept;
    if (kept_.size() >= most_places) end_least_used();
    kept_.push_back(std::make_unique<KeptInterpreter>());
    KeptInterpreter& kept = *kept_.back();
    kept.number = ++numbers_;
    kept.key = key;
    kept.name = name;
    kept.fresh = fresh;
    return kept;
}

void Interpreters::end_least_used() {
    auto least = kept_.end();
    for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
        const bool idle = !(*kept)->interpreter || (*kept)->interpreter->idle();
        const auto since = [](const auto& one) {
            return one->interpreter ? one->interpreter->since() : Instant::min();
        };
        if (idle && (least == kept_.end() || since(*kept) < since(*least))) least = kept;
    }
    if (least == kept_.end()) return;
    if ((*least)->interpreter) {
        (*least)->interpreter->kill();
        leave(std::move((*least)->interpreter));
    }
    kept_.erase(least);
}

bool Interpreters::begin(KeptInterpreter& kept) {
    kept.interpreter = std::make_unique<Interpreter>(
        InterpreterSettings{kept.archive.valid() ? "" : kept.name, kept.archive.get(), kept.fresh,
                            environment_, files_},
        poller_, listener_);
    if (!kept.interpreter->running()) return false;
    listener_.interpreter_started(kept.interpreter->pid());
    poller_.add(kept.interpreter->descriptor(), process::PollSource::interpreter, EPOLLIN, kept.number);
    return true;
}

void Interpreters::send(KeptInterpreter& kept, std::unique_ptr<Request> request) {
    if (!kept.interpreter && !begin(kept)) {
        const std::unique_ptr<Interpreter> failed = std::move(kept.interpreter);
        if (failed->may_pass()) return refuse(std::move(request), failed->why_not(), Refusal::may_pass);
        return refuse(std::move(request), failed->why_not() + remedy(kept.archive.valid()), Refusal::lasting);
    }
    kept.interpreter->start(std::move(request));
}

// It has ended, or must. `why`: what is wrong with it; empty: its own last words. Refusal::may_pass: it was
// killed.
void Interpreters::begin_anew(KeptInterpreter& kept, std::string why, Refusal kind) {
    std::unique_ptr<Interpreter> ended = std::move(kept.interpreter);
    ended->receive();  // what it had still said
    if (ended->has_forked()) kept.failures = 0;
    if (why.empty()) {
        const std::string words = ended->last_words();
        const bool own_words = kept.archive.valid() && !words.empty();  // of unpack.sh
        why = own_words ? words : words.empty() ? "ended" : "ended: " + words;
    }
    auto requests = ended->take_requests();
    ended->kill();
    leave(std::move(ended));
    const bool hopeless = ++kept.failures >= most_failures;
    if (hopeless) kept.failures = 0;
    for (auto& request : requests) {
        if (hopeless)
            refuse(std::move(request),
                   kept.archive.valid() ? kept.name + ": " + why
                                        : "the interpreter " + kept.name + " " + why +
                                              (kind == Refusal::may_pass ? "" : remedy(kept.archive.valid())),
                   kind);
        else
            send(kept, std::move(request));
    }
}

// Until it has been waited for, its calls are no children of ours.
void Interpreters::leave(std::unique_ptr<Interpreter> ended) {
    if (ended->pid() > 0)
        leaving_.push_back(std::move(ended));
    else
        report_orphans(*ended);
}

void Interpreters::report_orphans(const Interpreter& ended) {
    for (const auto& [serial, pid] : ended.running_calls()) listener_.call_orphaned(serial, pid);
}

void Interpreters::refuse(std::unique_ptr<Request> request, const std::string& why, Refusal kind) {
    listener_.call_refused(request->serial, why, kind);
}

void Interpreters::ready(std::size_t number) {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept->number == number; });
    if (found == kept_.end() || !(*found)->interpreter) return;
    // It has ended: reaped() will say how.
    if (Interpreter& interpreter = *(*found)->interpreter; !interpreter.receive()) interpreter.kill();
}

bool Interpreters::withdraw(std::uint64_t serial) {
    for (const auto& kept : kept_)
        if (kept->interpreter && kept->interpreter->withdraw(serial)) return true;
    return false;
}

void Interpreters::process_ready(std::size_t number) {
    const auto pid = static_cast<pid_t>(number);
    for (const auto& kept : kept_)
        if (kept->interpreter && kept->interpreter->process_ready(pid)) return;
}

void Interpreters::reaped(pid_t pid, int status) {
    for (const auto& kept : kept_) {
        if (!kept->interpreter || kept->interpreter->pid() != pid) continue;
        const bool killed =
            !kept->interpreter->was_killed() && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        kept->interpreter->reaped();
        return begin_anew(*kept, killed ? "was killed by signal 9: is memory short?" : "",
                          killed ? Refusal::may_pass : Refusal::lasting);
    }
    const auto found = std::find_if(leaving_.begin(), leaving_.end(),
                                    [&](const auto& interpreter) { return interpreter->pid() == pid; });
    if (found == leaving_.end()) return;
    const std::unique_ptr<Interpreter> ended = std::move(*found);
    leaving_.erase(found);
    ended->reaped();
    report_orphans(*ended);
}

void Interpreters::check(Instant now) {
    for (const auto& kept : kept_) {
        if (!kept->interpreter) continue;
        kept->interpreter->dismiss_unused(now);
        if (now < due(*kept)) continue;
        if (kept->interpreter->idle()) {
            kept->interpreter->kill();
            leave(std::move(kept->interpreter));
        } else {
            const auto limit = limit_of(*kept->interpreter, kept->archive.valid());
            begin_anew(*kept,
                       "did not answer within " +
                           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) +
                           " s",
                       Refusal::lasting);
        }
    }
}

// When to look at it; Instant::max(): not before it says something.
Instant Interpreters::due(const KeptInterpreter& kept) {
    const Interpreter& interpreter = *kept.interpreter;
    if (interpreter.waited_for())
        return interpreter.waited_for_since() + limit_of(interpreter, kept.archive.valid());
    if (const auto since = interpreter.silent_since()) return *since + stuck_limit;
    return interpreter.idle() ? interpreter.since() + unused_limit : Instant::max();
}

std::optional<Instant> Interpreters::next_check() const {
    std::optional<Instant> next;
    for (const auto& kept : kept_) {
        if (!kept->interpreter) continue;
        const Instant then = std::min(due(*kept), kept->interpreter->next_dismissal());
        next = std::min(next.value_or(then), then);
    }
    return next;
}

}  // namespace wq::node::calls
