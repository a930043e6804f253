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
        Place& place = place_of(name_of(facts), call.environment, request->fresh);
        if (!place.interpreter) place.archive = std::move(archive);
        return send(place, std::move(request));
    }
    const std::string file = find_python(call, path_);
    if (file.empty())
        return refuse(std::move(request),
                      "no Python here: neither python" + call.version +
                          " nor python3 is in PATH; install one, or set WORK_QUEUE_PYTHON for the worker",
                      Refusal::lasting);
    Place& place = place_of(file, file, request->fresh);
    send(place, std::move(request));
}

Interpreters::Place& Interpreters::place_of(const std::string& key, const std::string& name, bool fresh) {
    for (const auto& place : places_)
        if (place->key == key && place->fresh == fresh) return *place;
    if (places_.size() >= most_places) end_least_used();
    places_.push_back(std::make_unique<Place>());
    Place& place = *places_.back();
    place.number = ++numbers_;
    place.key = key;
    place.name = name;
    place.fresh = fresh;
    return place;
}

void Interpreters::end_least_used() {
    auto least = places_.end();
    for (auto place = places_.begin(); place != places_.end(); ++place) {
        const bool idle = !(*place)->interpreter || (*place)->interpreter->idle();
        const auto since = [](const auto& one) {
            return one->interpreter ? one->interpreter->since() : Instant::min();
        };
        if (idle && (least == places_.end() || since(*place) < since(*least))) least = place;
    }
    if (least == places_.end()) return;
    if ((*least)->interpreter) {
        (*least)->interpreter->kill();
        leave(std::move((*least)->interpreter));
    }
    places_.erase(least);
}

bool Interpreters::begin(Place& place) {
    place.interpreter = std::make_unique<Interpreter>(
        InterpreterSettings{place.archive.valid() ? "" : place.name, place.archive.get(), place.fresh,
                            environment_, files_},
        poller_, listener_);
    if (!place.interpreter->running()) return false;
    listener_.interpreter_started(place.interpreter->pid());
    poller_.add(place.interpreter->descriptor(), process::PollSource::interpreter, EPOLLIN, place.number);
    return true;
}

void Interpreters::send(Place& place, std::unique_ptr<Request> request) {
    if (!place.interpreter && !begin(place)) {
        const std::unique_ptr<Interpreter> failed = std::move(place.interpreter);
        if (failed->may_pass()) return refuse(std::move(request), failed->why_not(), Refusal::may_pass);
        return refuse(std::move(request), failed->why_not() + remedy(place.archive.valid()),
                      Refusal::lasting);
    }
    place.interpreter->start(std::move(request));
}

// It has ended, or must. `why`: what is wrong with it; empty: its own last words. Refusal::may_pass: it was
// killed.
void Interpreters::begin_anew(Place& place, std::string why, Refusal kind) {
    std::unique_ptr<Interpreter> ended = std::move(place.interpreter);
    ended->receive();  // what it had still said
    if (ended->has_forked()) place.failures = 0;
    if (why.empty()) {
        const std::string words = ended->last_words();
        const bool own_words = place.archive.valid() && !words.empty();  // of unpack.sh
        why = own_words ? words : words.empty() ? "ended" : "ended: " + words;
    }
    auto requests = ended->take_requests();
    ended->kill();
    leave(std::move(ended));
    const bool hopeless = ++place.failures >= most_failures;
    if (hopeless) place.failures = 0;
    for (auto& request : requests) {
        if (hopeless)
            refuse(std::move(request),
                   place.archive.valid()
                       ? place.name + ": " + why
                       : "the interpreter " + place.name + " " + why +
                             (kind == Refusal::may_pass ? "" : remedy(place.archive.valid())),
                   kind);
        else
            send(place, std::move(request));
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
    const auto found = std::find_if(places_.begin(), places_.end(),
                                    [&](const auto& place) { return place->number == number; });
    if (found == places_.end() || !(*found)->interpreter) return;
    // It has ended: reaped() will say how.
    if (Interpreter& interpreter = *(*found)->interpreter; !interpreter.receive()) interpreter.kill();
}

bool Interpreters::withdraw(std::uint64_t serial) {
    for (const auto& place : places_)
        if (place->interpreter && place->interpreter->withdraw(serial)) return true;
    return false;
}

void Interpreters::process_ready(std::size_t number) {
    const auto pid = static_cast<pid_t>(number);
    for (const auto& place : places_)
        if (place->interpreter && place->interpreter->process_ready(pid)) return;
}

void Interpreters::reaped(pid_t pid, int status) {
    for (const auto& place : places_) {
        if (!place->interpreter || place->interpreter->pid() != pid) continue;
        const bool killed =
            !place->interpreter->was_killed() && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        place->interpreter->reaped();
        return begin_anew(*place, killed ? "was killed by signal 9: is memory short?" : "",
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
    for (const auto& place : places_) {
        if (!place->interpreter) continue;
        place->interpreter->dismiss_unused(now);
        if (now < due(*place)) continue;
        if (place->interpreter->idle()) {
            place->interpreter->kill();
            leave(std::move(place->interpreter));
        } else {
            const auto limit = limit_of(*place->interpreter, place->archive.valid());
            begin_anew(*place,
                       "did not answer within " +
                           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) +
                           " s",
                       Refusal::lasting);
        }
    }
}

// When to look at it; Instant::max(): not before it says something.
Instant Interpreters::due(const Place& place) {
    const Interpreter& interpreter = *place.interpreter;
    if (interpreter.waited_for())
        return interpreter.waited_for_since() + limit_of(interpreter, place.archive.valid());
    if (const auto since = interpreter.silent_since()) return *since + stuck_limit;
    return interpreter.idle() ? interpreter.since() + unused_limit : Instant::max();
}

std::optional<Instant> Interpreters::next_check() const {
    std::optional<Instant> next;
    for (const auto& place : places_) {
        if (!place->interpreter) continue;
        const Instant then = std::min(due(*place), place->interpreter->next_dismissal());
        next = std::min(next.value_or(then), then);
    }
    return next;
}

}  // namespace wq::node::calls
