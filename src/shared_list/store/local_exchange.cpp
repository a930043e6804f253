#include "shared_list/store/local_exchange.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "shared_list/store/list_place.h"
#include "shared_list/store/new_list.h"
#include "shared_list/store/whole_io.h"

namespace wq::shared_list::store {

namespace {

constexpr int most_tries = 5;

// How things are.
struct Seen {
    struct stat list {};
    EditLog log;
    Version version() const { return {log.name(), log.bytes(), identity_of(list)}; }
};

Result<Seen> open_list(const Paths& paths) {
    auto log = EditLog::open(paths);
    if (!log) return log.error();
    if (const auto in_place = in_place_file(paths, *log))
        if (const auto finished = finish_overwriting(paths, *in_place, *log); !finished)
            return finished.error();
    const Descriptor list(::open(paths.file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666));
    struct stat found {};
    if (!list.valid() || ::fstat(list.get(), &found) != 0) return problem("open", paths.file);
    return Seen{found, std::move(*log)};
}

// The bytes of the list, and its identity. It is read again if somebody wrote to it meanwhile.
Result<std::string> read_list(const Paths& paths, std::string& identity) {
    std::string bytes;
    for (int i = 0; i < most_tries; ++i) {
        const Descriptor list(::open(paths.file.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat before {};
        struct stat after {};
        if (!list.valid() || ::fstat(list.get(), &before) != 0 ||
            !read_range(list.get(), 0, static_cast<std::uint64_t>(before.st_size), bytes) ||
            ::fstat(list.get(), &after) != 0)
            return problem("read", paths.file);
        identity = identity_of(before);
        if (identity == identity_of(after)) break;
    }
    return bytes;
}

Status answer_with_log(const Request& request, const EditLog& log, Answer& answer) {
    answer.whole_log = request.known.log != log.name() || request.known.log_bytes > log.bytes();
    auto part = log.read(answer.whole_log ? 0 : request.known.log_bytes);
    if (!part) return part.error();
    answer.log = std::move(*part);
    return success();
}

Status answer_with_file(const Paths& paths, const Request& request, Answer& answer) {
    const bool differs = answer.now.file != request.known.file &&
                         !(request.follows_log && log_has_file(answer.log, answer.now.file));
    if (!request.send_file && !differs) return success();
    auto bytes = read_list(paths, answer.now.file);
    if (!bytes) return bytes.error();
    answer.file = std::move(*bytes);
    answer.left_aside = left_aside(paths);
    return success();
}

// Records and `more` are the log's next lines, or all that a new log has.
Status enter(const Paths& paths, const Request& request, const std::string& more, EditLog& log) {
    const std::string lines = request.records + more;
    if (!request.new_log) return lines.empty() ? success() : log.append(lines);
    auto begun = EditLog::begin(paths, lines);
    if (!begun) return begun.error();
    log = std::move(*begun);
    return success();
}

Status enter_synced(const Paths& paths, const Request& request, const std::string& more, EditLog& log) {
    const Status entered = enter(paths, request, more, log);
    return entered ? log.sync() : entered;
}

Status put_aside(const Paths& paths, const std::string& name) {
    if (name.empty()) return success();
    const std::string copy = paths.file + "." + name;
    std::error_code error;
    std::filesystem::copy_file(paths.file, copy, std::filesystem::copy_options::overwrite_existing, error);
    return error ? Status(problem("write", copy, error.value())) : success();
}

// The identity of the new list, as it was written: what is appended from then on is seen. nullopt: somebody
// edited the list just now; nothing was done.
Result<std::optional<std::string>> rewrite(const Paths& paths, const Request& request, OldFiles& old,
                                           EditLog& log, const struct stat& list) {
    const auto fresh = NewList::write(paths, list, request.splices);
    // Before what failed is told: an editor that cut the list off meanwhile is no problem.
    const auto now = stat_of(paths.file);
    if (!now || identity_of(*now) != request.known.file) {
        if (fresh) fresh->drop();
        return std::optional<std::string>();
    }
    if (!fresh) return fresh.error();
    if (const Status kept = put_aside(paths, request.put_aside); !kept) {
        fresh->drop();
        return kept.error();
    }
    const bool has_other_names = now->st_nlink > 1 + old.links_of_list();
    const bool renamed = fresh->has_all_attributes() && !has_other_names;
    const std::string line = renamed ? "FILE " + fresh->identity() + "\n" : "";
    if (const Status entered = enter_synced(paths, request, line, log); !entered) {
        fresh->drop();
        return entered.error();
    }
    if (renamed) old.keep_list();
    if (renamed && fresh->put_in_place()) return std::optional(fresh->identity());
    auto overwritten = overwrite(paths, static_cast<std::uint64_t>(list.st_size), log);
    if (!overwritten) return overwritten.error();
    return std::optional(std::move(*overwritten));
}

struct Made {
    std::string file;  // identity of the list after the change
    bool unsynced = false;
};

// nullopt: somebody edited the list just now; nothing was done.
Result<std::optional<Made>> make_change(const Paths& paths, const Request& request, Seen& seen) {
    OldFiles old(paths, seen.list);
    old.make_room();
    Made made{request.known.file, false};
    if (request.rewrite) {
        auto rewritten = rewrite(paths, request, old, seen.log, seen.list);
        if (!rewritten) return rewritten.error();
        if (!*rewritten) return std::optional<Made>();
        made.file = std::move(**rewritten);
    } else {
        // A copied part may be forgotten only when the log has it for good.
        const bool now = !request.copied_old.empty();
        const Status entered =
            now ? enter_synced(paths, request, {}, seen.log) : enter(paths, request, {}, seen.log);
        if (!entered) return entered.error();
        made.unsynced = !now && !request.new_log;
    }
    for (const std::string& name : request.copied_old)
        if (const Status noted = old.copied(name); !noted) return unfinished(noted.error());
    return std::optional(std::move(made));
}

// How things are after the change, or without it.
Status describe(const Paths& paths, const Request& request, Seen& seen, const std::optional<Made>& made,
                Duration took, Answer& answer) {
    const auto list = stat_of(paths.file);
    if (!list) return problem("read", paths.file);
    seen.list = *list;
    answer.now = seen.version();
    if (made) answer.now.file = made->file;
    const OldFiles old(paths, seen.list);
    answer.old = old.appended();
    if (request.rewrite && answer.changed) answer.rewriting = rewriting_time(took, old.count());
    if (!answer.changed) {
        if (const Status logged = answer_with_log(request, seen.log, answer); !logged) return logged;
    }
    return !answer.changed || request.send_file ? answer_with_file(paths, request, answer) : success();
}

}  // namespace

bool log_has_file(const std::string& log, const std::string& identity) {
    const std::string line = "FILE " + identity + "\n";
    return log.starts_with(line) || log.find("\n" + line) != std::string::npos;
}

Status ask_for_turn_locked(const Paths& paths, const std::string& name) {
    auto seen = open_list(paths);
    return seen ? seen->log.append("TURN " + name + "\n") : Status(seen.error());
}

Result<Exchanged> exchange_locked(const Paths& paths, const Request& request) {
    auto seen = open_list(paths);
    if (!seen) return seen.error();
    Exchanged result;
    Answer& answer = result.answer;
    std::optional<Made> made;
    Duration took{0};
    if (!request.empty() && request.known == seen->version()) {
        const Instant begun = instant_now();
        auto done = make_change(paths, request, *seen);
        if (!done) return done.error();
        made = std::move(*done);
        answer.changed = made.has_value();
        took = instant_now() - begun;
    }
    if (const Status described = describe(paths, request, *seen, made, took, answer); !described)
        return made ? unfinished(described.error()) : described.error();
    if (made && made->unsynced) result.unsynced = std::move(seen->log);
    return result;
}

}  // namespace wq::shared_list::store
