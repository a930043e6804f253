#include "shared_list/replica/shared_list.h"

#include <poll.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/units.h"
#include "shared_list/replica/list_copy.h"
#include "shared_list/store/list_place.h"

namespace wq::shared_list::replica {

namespace {

using text::Document;
using text::Edit;
using text::Record;
using text::WorkerId;

constexpr int share_of_rewriting = 20;                  // of the time: a twentieth
constexpr std::uint64_t long_log = 4u << 20;            // bytes; then a new one is begun
constexpr std::uint64_t kept_log = long_log / 16;       // of the old one, which stays beside it
const std::string of_old_files = "old files";           // a purpose
constexpr std::chrono::milliseconds between_looks(10);  // while others have their turn

}  // namespace

SharedList::SharedList(ListStore& store, std::function<void(const std::string&)> say,
                       std::function<Instant()> clock)
    : store_(store), say_(std::move(say)), now_(std::move(clock)), token_(store::random_word()) {}

Status SharedList::open() {
    if (auto opened = store_.open(); !opened) return opened;
    if (auto read = clock_.read(store_); !read) return read;
    return refresh();
}

Status SharedList::refresh() {
    if (clock_.is_old())
        if (auto read = clock_.read(store_); !read) return read;
    if (auto looked = follow_store(); !looked) return looked;
    return copy_old_files();
}

// Sends what is known along, and takes what is new of the log.
Result<Answer> SharedList::exchange(const Request& request) {
    Request sent = request;
    sent.known = known_;
    sent.follows_log = true;
    auto answer = store_.exchange(sent);
    if (!answer) return answer.error();
    if (answer->whole_log) {
        copy_.log_began();
        turn_.reset();
        if (auto begun = log_.begin(answer->log); !begun) return begun.error();
    } else if (auto taken = log_.append(answer->log); !taken) {
        return taken.error();
    }
    if (log_.lacks_record()) {
        known_ = Version{};
        Request again;
        again.send_file = request.send_file;
        return exchange(again);
    }
    known_ = answer->now;
    old_ = std::move(answer->old);
    return answer;
}

Status SharedList::follow_store() {
    const auto answer = exchange({});
    if (!answer) return answer.error();
    return follow(*answer);
}

Status SharedList::follow(const Answer& answer) {
    // Others do not know how this one was made.
    if (has_unfinished_line() && unlogged_ != answer.now.file) copy_.lose();
    if (copy_.is_current() && is_known(answer.now.file)) copy_.apply_news(log_);
    if (copy_.is_current() && is_known(answer.now.file)) return success();
    if (!answer.file) return read_file();
    const auto taken = take_answer(answer);
    if (!taken) return taken.error();
    return *taken ? success() : read_file();
}

// Others were faster: what they did is in refused_.
Status SharedList::try_again(Tries& tries) {
    if (auto news = follow(std::exchange(refused_, {})); !news) return news;
    return before_next_try(tries);
}

Status SharedList::before_next_try(Tries& tries) {
    if (between_tries_)
        if (auto may = between_tries_(Duration{0}); !may) return may;
    if (auto given = store_.renew_signs(); !given) return given;
    if (!tries.refused(now_())) return success();
    if (tries.are_vain())
        return Error{ExitCode::unreachable, store_.name() + " is changed by others all the time"};
    return store_.ask_for_turn(token_);
}

// Waits while it is the turn of others. At first it looks: that was perhaps long ago.
Status SharedList::await_turn() {
    for (Duration pause{0}; const std::size_t others = log_.turns().before(token_); pause = between_looks) {
        if (turn_ != log_.turns().first()) {
            turn_ = log_.turns().first();
            turn_seen_ = now_();
        }
        if (now_() >= turn_seen_ + others * longest_turn) break;
        if (between_tries_) {
            if (auto may = between_tries_(pause); !may) return may;
        } else {
            ::poll(nullptr, 0, pause == Duration{0} ? 0 : static_cast<int>(between_looks.count()));
        }
        if (auto given = store_.renew_signs(); !given) return given;
        if (auto looked = follow_store(); !looked) return looked;
    }
    return success();
}

bool SharedList::is_known(const std::string& identity) const {
    return log_.last_file() == identity || (unlogged_ == identity && loose_end_.is_written(identity, now_()));
}

// Until the file that was read is known to the log, or the log was told of it.
Status SharedList::read_file() {
    for (Tries tries(now_());;) {
        Request request;
        request.send_file = true;
        const auto answer = exchange(request);
        if (!answer) return answer.error();
        const auto taken = take_answer(*answer);
        if (!taken) return taken.error();
        if (*taken) return success();
        if (auto may = before_next_try(tries); !may) return may;
    }
}

// False: others were faster.
Result<bool> SharedList::take_answer(const Answer& answer) {
    if (!answer.file) return Error{ExitCode::internal, store_.name() + ": the list was not sent"};
    is_damaged_ = false;
    const auto known = log_.records_in(answer.now.file);
    if (!known || log_.is_reread_after(*known)) return adopt(answer);
    if (auto taken = take_file(answer); !taken) return taken.error();
    return true;
}

Status SharedList::take_file(const Answer& answer) {
    auto list = Document::read(*answer.file);
    if (!list) return damage(list.error());
    copy_.set(std::move(*list));
    unlogged_.clear();
    copy_.is_up_to(*log_.records_in(answer.now.file), log_);
    copy_.apply_news(log_);
    return success();
}

// A file that no worker wrote. False: others were faster.
Result<bool> SharedList::adopt(const Answer& answer) {
    std::optional<Duration> age;
    if (const auto changed = changed_at(answer.now.file))
        age = std::chrono::microseconds(clock_.now() - *changed);
    loose_end_.read(answer.now.file, *answer.file, age, now_());
    if (loose_end_.is_written(answer.now.file, now_())) return take_whole_lines(answer);
    std::string appended = appended_to(*answer.file);
    auto merged = with_history(answer, *answer.file, appended.empty());
    if (!merged) return merged.error();
    const auto again = waiting_again(*merged);
    if (!again) return again.error();
    unlogged_.clear();
    if (*again > 0) return put_aside(answer, *again);
    const auto unwritten = history(store_, log_, answer, LogPart::unwritten);  // no editor had them
    if (!unwritten) return unwritten.error();
    const ListCopy before = copy_;
    copy_.set(std::move(merged->list));
    copy_.lose();  // until the log is told
    Record told = record({});
    told.reread = appended.empty();
    if (!appended.empty()) told.edits.push_back(text::Append{std::move(appended)});
    Request request;
    request.records = line_of(told);
    request.rewrite = true;
    request.splices = copy_.list().splices();
    auto made = make_change(request);
    if (!made || !*made) {
        copy_ = before;
        copy_.lose();
    }
    if (made && *made && merged->made_again > unwritten->edits.size())
        say_(store_.name() + " was edited while workers marked it; restored: " +
             count_of(merged->made_again - unwritten->edits.size(), "mark") +
             " that the editor had removed (use --lock to edit)");
    return made;
}

// How many finished lines would run again by a list that is so old that nobody remembers all its marks.
Result<std::uint64_t> SharedList::waiting_again(const text::Merged& merged) {
    if (!merged.is_too_old) return std::uint64_t{0};
    catch_up();
    if (copy_.is_current()) return text::waiting_again(copy_.list(), merged.list);
    return Error{
        ExitCode::bad_input,
        store_.name() +
            " was replaced by an old copy, and it is not known which of its lines have run since. "
            "Running workers restore the list: try again; if the copy is right, end all workers instead"};
}

// The list becomes again what we know of it.
Result<bool> SharedList::put_aside(const Answer& answer, std::uint64_t waiting_again) {
    std::string name = "edited-" + clock_.stamp();
    for (char& byte : name)
        if (byte == ' ' || byte == ':') byte = '-';
    Request request;
    request.put_aside = name;
    request.records = line_of(record({}));
    request.rewrite = true;
    request.splices = {{0, answer.file->size(), copy_.list().bytes()}};
    auto made = make_change(request);
    if (made && *made)
        say_(store_.name() + " was replaced by a copy so old that " + std::to_string(waiting_again) +
             " finished lines would run again: the list was put back, and the copy is " + store_.name() +
             "." + name + " (use --lock to edit, or end all workers first)");
    return made;
}

// As far as that can be done without the file.
void SharedList::catch_up() {
    // Others do not know how this list was made.
    if (has_unfinished_line() && copy_.lacks_rewriting(log_)) copy_.lose();
    if (copy_.is_current()) copy_.apply_news(log_);
}

// The log is not told of a list that is being written: told lists are replaced, and who writes would write on
// in the old one. So all workers read it anew when it changes.
Result<bool> SharedList::take_whole_lines(const Answer& answer) {
    // No line that is being written has one.
    if (const Status text = Document::check(*answer.file); !text) return damage(text.error());
    constexpr bool is_edited = true;
    auto merged = with_history(answer, whole_lines(*answer.file), is_edited);
    if (!merged) return merged.error();
    const auto again = waiting_again(*merged);
    if (!again) return again.error();
    if (*again == 0) copy_.set(std::move(merged->list));
    unlogged_ = answer.now.file;
    copy_.is_up_to(log_.records().size(), log_);
    return true;
}

Result<text::Merged> SharedList::with_history(const Answer& answer, std::string_view bytes, bool is_edited) {
    bool others_live = joined_;
    if (!others_live && is_edited) {
        const auto signs = store_.signs();
        if (!signs) return signs.error();
        others_live = std::ranges::any_of(*signs, &store::Sign::lives);
    }
    const auto part = others_live ? LogPart::all : LogPart::unwritten;
    const auto done = is_edited ? history(store_, log_, answer, part) : text::History{};
    if (!done) return done.error();
    if (copy_.is_known()) copy_.apply_news(log_);
    auto merged = text::merge(bytes, *done, copy_.is_known() ? &copy_.list() : nullptr);
    if (!merged) return damage(merged.error());
    return merged;
}

// What was appended to the list since we last saw it, the most frequent edit: then other workers need not
// read the list anew. "": it was edited otherwise.
std::string SharedList::appended_to(const std::string& file) {
    catch_up();
    if (!copy_.is_current() || has_unfinished_line() || copy_.list().changed() || !file.ends_with('\n'))
        return {};
    // Records of lines that this copy lacks changed nothing in it.
    if (log_.files() == 0 || log_.records_at(log_.files() - 1) != log_.records().size()) return {};
    const std::string known = copy_.list().bytes();
    const bool more = file.size() > known.size() && file.starts_with(known);
    return more && (known.empty() || known.ends_with('\n')) ? file.substr(known.size()) : std::string();
}

Record SharedList::record(std::vector<Edit> edits) {
    return {log_.next_sequence(), token_ + "." + std::to_string(++tokens_), std::move(edits), false};
}

std::string SharedList::line_of(const Record& record) const {
    return (log_.torn() ? "\n" : "") + text::to_line(record) + "\n";
}

// copy_.list() already has the change. False: others were faster; what they did is in refused_.
Result<bool> SharedList::make_change(const Request& request) {
    const std::string before = known_.file;
    auto answer = exchange(request);
    if (!answer) return answer.error();
    if (!answer->changed) {
        refused_ = std::move(*answer);
        return false;
    }
    if (request.new_log) {
        turn_.reset();
        if (auto begun = log_.begin(request.records); !begun) return begun.error();
    } else if (auto taken = log_.append(request.records); !taken) {
        return taken.error();
    }
    if (request.rewrite) {
        log_.rewritten(answer->now.file);
        copy_.written();
        rewriting_ = answer->rewriting;
    }
    copy_.is_up_to(log_.records().size(), log_);
    if (!request.rewrite && answer->now.file != before) copy_.lose();
    return true;
}

void SharedList::rewrite_if_due(Request& request) {
    const auto due = unsettled();
    if (has_unfinished_line() || !due || *due > instant_now()) return;
    request.rewrite = true;
    request.splices = copy_.list().splices();
}

bool SharedList::was_made(const Pending& sent) const {
    if (log_.has(sent.token)) return true;
    // Somebody has begun a new log.
    return sent.log != known_.log && !sent.edits.empty() && text::stands(copy_.list(), sent.edits.back());
}

// The change that was sent for this purpose and made, though no answer came. It may also be made later, by a
// helper that outlives its connection, as long as the log does not grow otherwise.
std::optional<std::vector<Edit>> SharedList::take_pending(const std::string& purpose) {
    const auto sent = pending_.find(purpose);
    if (sent == pending_.end()) return std::nullopt;
    const auto made = std::ranges::find_if(sent->second, [&](const Pending& one) { return was_made(one); });
    if (made == sent->second.end()) return std::nullopt;
    std::vector<Edit> edits = std::move(made->edits);
    pending_.erase(sent);
    return edits;
}

Result<std::vector<Edit>> SharedList::change(const std::string& purpose, const Decide& decide) {
    Tries tries(now_());
    for (bool looked_now = false;;) {
        if (!copy_.is_current() || (!looked_now && pending_.contains(purpose))) {
            if (auto looked = follow_store(); !looked) return looked.error();
            looked_now = true;
        }
        if (auto may = await_turn(); !may) return may.error();
        if (auto made = take_pending(purpose)) return *made;
        if (auto copied = copy_old_files(); !copied) return copied.error();
        std::vector<Edit> edits = decide(copy_.list());
        if (edits.empty() && looked_now) return edits;
        const auto made = edits.empty() ? Result<bool>(false) : make_edits(purpose, edits, {});
        if (!made) return made.error();
        if (*made) return edits;
        const Status news = edits.empty() ? follow_store() : try_again(tries);
        if (!news) return news.error();
        looked_now = true;
    }
}

// Makes the edits here, and there with the request, or takes them back.
Result<bool> SharedList::make_edits(const std::string& purpose, std::vector<Edit> edits, Request request) {
    Record told = record(std::move(edits));
    request.records = line_of(told);
    const std::uint64_t inserted = copy_.list().lines_inserted_in_front();
    copy_.list().begin_change();
    for (const Edit& edit : told.edits) copy_.list().apply(edit);
    rewrite_if_due(request);
    const auto made = make_change(request);
    if (made && *made) {
        pending_.erase(purpose);  // the log has grown: what was sent before is refused from now on
        copy_.list().keep_change();
        copy_.move_places(inserted);
        return true;
    }
    copy_.list().undo_change();
    // Of old files the log itself says what was made.
    if (!made && made.error().code == ExitCode::unreachable && purpose != of_old_files)
        pending_[purpose].push_back({std::move(told.token), known_.log, std::move(told.edits)});
    return made;
}

Status SharedList::copy_old_files() {
    Tries tries(now_());
    while (!old_.empty()) {
        std::vector<Edit> edits = appends(log_, old_);
        Request request;
        for (const OldFile& old : old_) request.copied_old.push_back(old.name);
        const auto made = make_edits(of_old_files, std::move(edits), std::move(request));
        if (!made) return made.error();
        if (*made) break;
        if (auto news = try_again(tries); !news) return news;
        if (auto may = await_turn(); !may) return may;
    }
    return success();
}

Result<WorkerId> SharedList::join(const std::string& name, std::optional<WorkerId> wanted) {
    // A list that was reset while workers wait knows nothing of their ids.
    const auto signs = store_.signs();
    if (!signs) return signs.error();
    WorkerId least = 0;
    for (const store::Sign& sign : *signs)
        if (sign.lives()) least = std::max(least, sign.worker + 1);
    const auto made = change("join of " + name, [&](const Document& list) {
        const WorkerId next = std::max(least, static_cast<WorkerId>(list.last_worker() + 1));
        return std::vector<Edit>{text::Join{wanted.value_or(next), name, clock_.stamp()}};
    });
    if (!made) return made.error();
    joined_ = true;
    return std::get<text::Join>(made->front()).worker;
}

Status SharedList::replace(const std::function<Result<std::string>(const Document&)>& text) {
    if (auto looked = follow_store(); !looked) return looked;
    for (Tries tries(now_());;) {
        if (auto may = await_turn(); !may) return may;
        if (has_unfinished_line()) return is_being_written(store_.name());
        auto whole = text(copy_.list());
        if (!whole) return whole.error();
        Record told = record({});
        told.reread = true;
        told.sequence = 1;  // nothing before it counts
        Request request;
        request.records = line_of(told);
        request.new_log = request.rewrite = true;
        request.splices = {{0, copy_.list().bytes_in_file(), std::move(*whole)}};
        const auto made = make_change(request);
        if (!made) return made.error();
        if (*made) break;
        if (auto news = try_again(tries); !news) return news;
    }
    copy_.lose();
    return follow_store();
}

Status SharedList::forget() {
    return write_now(Log::empty);
}

std::optional<Instant> SharedList::unsettled() const {
    if (has_unfinished_line()) return loose_end_.whole_at();
    if (!copy_.is_current() || !copy_.list().changed()) return std::nullopt;
    return copy_.written_at() + share_of_rewriting * rewriting_;
}

Status SharedList::settle() {
    return write_now(Log::keep);
}

// A new log begins when the list has all of the old one: a crash between the two loses nothing.
Status SharedList::write_now(Log log) {
    const bool empty_log = log == Log::empty;
    if (auto looked = follow_store(); !looked) return looked;
    Tries tries(now_());
    for (bool written = false;;) {
        if (auto looked = copy_.is_current() ? success() : follow_store(); !looked) return looked;
        if (auto may = await_turn(); !may) return may;
        if (has_unfinished_line() && empty_log) return is_being_written(store_.name());
        // A rewriting also makes the log grow, so that nothing that was sent before is made later.
        const bool writes =
            (copy_.list().changed() && !has_unfinished_line()) || (!pending_.empty() && !written);
        if (!writes && !empty_log && (has_unfinished_line() || known_.log_bytes <= long_log))
            return success();
        Request request;
        request.rewrite = !has_unfinished_line();
        if (has_unfinished_line())
            request.records = line_of(record({}));
        else if (writes)
            request.splices = copy_.list().splices();
        else
            begin_log(request, empty_log ? 0 : kept_log);
        const auto made = make_change(request);
        if (!made) return made.error();
        if (!*made) {
            if (auto news = try_again(tries); !news) return news;
            continue;
        }
        if (!writes) return success();
        written = true;
        std::erase_if(pending_, [&](const auto& entry) {
            return std::ranges::none_of(entry.second, [&](const Pending& one) { return was_made(one); });
        });
    }
}

// With the last records of the old one, so that workers that follow seldom need to read the list anew.
void SharedList::begin_log(Request& request, std::uint64_t most_bytes) const {
    request.new_log = true;
    if (most_bytes == 0) return;
    std::vector<std::string> kept;  // the last one always: by its number one sees that others were before it
    std::uint64_t bytes = 0;
    for (const Record& record : std::ranges::reverse_view(log_.records())) {
        std::string line = text::to_line(record) + "\n";
        bytes += line.size();
        if (!kept.empty() && bytes > most_bytes) break;
        kept.push_back(std::move(line));
    }
    for (const std::string& line : std::ranges::reverse_view(kept)) request.records += line;
}

}  // namespace wq::shared_list::replica
