#include "net/catalog_server/history_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/take_number.h"
#include "base/units.h"
#include "base/write_all.h"
#include "net/catalog/record.h"
#include "net/catalog_server/history_replay.h"
#include "net/frames/http_request.h"

namespace wq::net::catalog_server {

namespace {

using catalog::FlatRecord;
using catalog::RecordTable;

// CCTools' programs read lines of 64 KiB.
constexpr std::size_t most_in_line = 60'000;
constexpr int parts_of_space = 4;  // a day has one
constexpr std::size_t flushed_at = 64 << 10;
constexpr std::size_t checkpoint_piece = 256 << 10;
constexpr Duration cleaned_every = std::chrono::minutes(1);

// A change of these only is no news.
bool is_news(std::string_view name) {
    return name != "lastheardfrom" && name != "uptime";
}

// As a word of a line.
bool is_word(std::string_view name) {
    return std::ranges::none_of(
        name, [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '"' || c == '\\'; });
}

// Members of a record in lines, each of which a reader takes; what is larger than a line is left out.
class LinesOfMembers {
  public:
    LinesOfMembers(char kind, const std::string& word, std::string& out)
        : kind_(kind), word_(word), out_(out) {}
    void add(std::string_view name, std::string_view value) {
        const std::size_t needs = name.size() + value.size() + 4;
        if (needs > most_in_line) return;
        if (members_.size() + needs > most_in_line) end();
        members_.append(members_.empty() ? "\"" : ",\"").append(name).append("\":").append(value);
    }
    void end() {
        if (members_.empty() && kind_ != 'C') return;
        (out_ += kind_).append(" ").append(word_).append(" {").append(members_).append("}\n");
        members_.clear();
        kind_ = 'M';
    }

  private:
    char kind_;
    const std::string& word_;
    std::string& out_;
    std::string members_;
};

// Without members that no line takes.
std::string text_within_lines(const FlatRecord& record) {
    if (record.text().size() <= most_in_line) return record.text();
    std::vector<FlatRecord::Given> left_out;
    for (std::size_t at = 0; at < record.size(); ++at)
        if (record.value_at(at).size() > most_in_line) left_out.push_back({record.name_at(at), ""});
    return record.with(left_out).text();
}

struct Heard {
    std::int64_t seconds = 0;
    bool by_udp = true;
};

std::unordered_map<std::string, Heard> read_heard(Descriptor file) {
    std::unordered_map<std::string, Heard> all;
    LineReader reader(std::move(file));
    std::string_view line;
    while (reader.next(line)) {
        const auto seconds = take_number<std::int64_t>(line);
        if (!seconds || line.size() < 6 || (!line.starts_with(" tcp ") && !line.starts_with(" udp ")))
            continue;
        all[frames::percent_decoded(line.substr(5))] = {*seconds, line[1] == 'u'};
    }
    return all;
}

std::int64_t size_of(int file) {
    struct stat about {};
    return ::fstat(file, &about) == 0 ? about.st_size : 0;
}

// What stands in `log` from `from` on, at the end of `file`.
bool copy_tail(int log, off_t from, int file) {
    std::array<char, 1 << 16> part;
    for (;;) {
        const ssize_t count = ::pread(log, part.data(), part.size(), from);
        if (count <= 0) return count == 0;
        if (!write_all(file, {part.data(), static_cast<std::size_t>(count)})) return false;
        from += count;
    }
}

}  // namespace

// Only jobs of the thread touch it.
struct HistoryLog::Writer {
    Descriptor log, checkpoint;
    Day day{};
    off_t begins = 0;  // of what is newer than the checkpoint, in the log
};

HistoryLog::HistoryLog(const HistoryFiles& files, HistoryLimits limits, RecordTable& table,
                       catalog::TableLimits of_table, Say say, Instant now, Clock wall)
    : files_(files),
      limits_(limits),
      table_(table),
      say_(std::move(say)),
      writer_(std::make_shared<Writer>()),
      wall_(std::move(wall)) {
    next_heard_ = now + limits_.heard_every;
    restore(of_table, now);
    table_.watch(this);
}

HistoryLog::~HistoryLog() {
    table_.watch(nullptr);
    flush();
    write_heard({});
    settle();
}

void HistoryLog::settle() {
    while (waiting_ > 0) {  // each job has some bytes
        pollfd ended{thread_.descriptor(), POLLIN, 0};
        ::poll(&ended, 1, 1000);
        thread_.finish();
    }
}

std::int64_t HistoryLog::seconds() {
    return latest_ = std::max(latest_, wall_() / micros_per_second);
}

void HistoryLog::restore(catalog::TableLimits of_table, Instant now) {
    const HistoryState state = history_at(files_, seconds(), of_table.bytes);
    const auto heard = read_heard(files_.read_heard());
    const std::vector<Day> days = files_.days();
    day_ = day_of(latest_);
    const bool goes_on = !days.empty() && days.back() == day_;
    for (const auto& [key, record] : state.records()) {
        Heard last{record.integer_of("lastheardfrom"), true};
        if (const auto found = heard.find(key); found != heard.end())
            last = {std::max(last.seconds, found->second.seconds), found->second.by_udp};
        const std::int64_t age = std::max<std::int64_t>(0, latest_ - last.seconds);
        const Duration lifetime = catalog::lifetime_of(record, of_table.lifetime);
        if (age >= std::chrono::duration_cast<std::chrono::seconds>(lifetime).count()) continue;
        table_.restore(key, record.with({{"lastheardfrom", std::to_string(last.seconds)}}), last.by_udp,
                       now + lifetime - std::chrono::seconds(age));
    }
    if (!goes_on) {
        begin_checkpoint(now);
    } else {
        open_log();
        for (const auto& [key, record] : state.records())
            if (table_.find(key) == nullptr) removed(key);
    }
    if (state.damaged() > 0)
        say_("history: " + count_of(state.damaged(), "line") + " in " + files_.folder() +
             " cannot be read; all others hold");
}

void HistoryLog::line(std::string_view text) {
    if (text.empty()) return;
    if (seconds() != told_time_) lines_ += "T " + std::to_string(latest_) + "\n";
    told_time_ = latest_;
    lines_ += text;
    if (lines_.size() >= flushed_at) flush();
}

void HistoryLog::created(const std::string& key, const FlatRecord& record) {
    if (leaves_out_) return;
    const std::string word = word_of_key(key);
    std::string text;
    LinesOfMembers lines('C', word, text);
    for (std::size_t at = 0; at < record.size(); ++at) lines.add(record.name_at(at), record.value_at(at));
    lines.end();
    line(text);
}

void HistoryLog::changed(const std::string& key, const FlatRecord& before, const FlatRecord& after) {
    if (leaves_out_) return;
    const std::string word = word_of_key(key);
    std::string text;
    LinesOfMembers lines('M', word, text);
    bool news = false;
    for (std::size_t at = 0; at < after.size(); ++at) {
        const std::string_view name = after.name_at(at), value = after.value_at(at);
        const bool in_place = at < before.size() && before.name_at(at) == name;
        if (!is_news(name) || (in_place ? before.value_at(at) : before.member(name)) == value) continue;
        lines.add(name, value);
        news = true;
    }
    if (news) lines.add("lastheardfrom", after.member("lastheardfrom"));
    lines.end();
    for (std::size_t at = 0; at < before.size(); ++at) {
        const std::string_view name = before.name_at(at);
        if (!is_news(name) || (at < after.size() && after.name_at(at) == name) || !after.member(name).empty())
            continue;
        if (!is_word(name)) {  // no line removes it
            removed(key);
            return created(key, after);
        }
        text.append("R ").append(word).append(" ").append(name).append("\n");
    }
    line(text);
}

void HistoryLog::removed(const std::string& key) {
    if (!leaves_out_) line("D " + word_of_key(key) + "\n");
}

void HistoryLog::flush() {
    if (lines_.empty()) return;
    std::string text = std::exchange(lines_, {});
    if (waiting_ + text.size() > limits_.waiting_bytes)
        return leave_out("the disk is slower than changes come");
    const std::size_t bytes = text.size();
    day_bytes_ += static_cast<std::int64_t>(bytes);
    tail_bytes_ += static_cast<std::int64_t>(bytes);
    post(
        [writer = writer_, text = std::move(text)] { return write_all(writer->log.get(), text) ? 0 : errno; },
        bytes);
}

void HistoryLog::post(std::function<int()> work, std::size_t bytes, std::function<void()> then) {
    waiting_ += bytes;
    thread_.post([this, work = std::move(work), bytes, then = std::move(then)]() -> BackgroundThread::Then {
        const int error = work();
        return [this, error, bytes, then] {
            waiting_ -= bytes;
            if (error != 0) return leave_out(std::strerror(error));
            if (then) then();
        };
    });
}

// Until the next checkpoint.
void HistoryLog::leave_out(const std::string& why) {
    checkpoints_ = false;
    leaves_out_ = cuts_ = true;
    lines_.clear();
    if (!std::exchange(said_, true)) say_("history: changes are left out for now: " + why);
}

void HistoryLog::open_log() {
    post(
        [writer = writer_, &files = files_, day = day_] {
            writer->log = files.append_log(day);
            if (!writer->log.valid()) return errno;
            writer->day = day;
            writer->begins = static_cast<off_t>(size_of(writer->log.get()));
            return 0;
        },
        1, [this, writer = writer_] { day_bytes_ = tail_bytes_ + writer->begins; });
}

void HistoryLog::begin_checkpoint(Instant now) {
    next_checkpoint_ = now + limits_.checkpoint_every;
    leaves_out_ = false;
    checkpoints_ = checkpoint_first_ = true;
    checkpoint_at_.reset();
    told_time_ = tail_bytes_ = 0;
    open_log();
    post(
        [writer = writer_, &files = files_] {
            writer->checkpoint = files.begin_checkpoint(writer->day);
            return writer->checkpoint.valid() ? 0 : errno;
        },
        1, [this] { write_checkpoint(); });
}

// Piece by piece: records that change meanwhile are in the log as well, which is read after it.
void HistoryLog::write_checkpoint() {
    if (!checkpoints_) return;
    std::string text = std::exchange(checkpoint_first_, false) ? "{\n" : ",\n";
    bool any = false;
    auto at = table_.behind(checkpoint_at_ ? &*checkpoint_at_ : nullptr);
    for (; at != table_.end() && text.size() < checkpoint_piece; ++at) {
        if (std::exchange(any, true)) text += ",\n";
        text += "\"" + word_of_key(at->first.key) + "\":\n" + text_within_lines(at->second.record);
        checkpoint_at_ = at->first;
    }
    const bool last = at == table_.end();
    if (!any) text.resize(text.starts_with('{') ? 2 : 0);
    if (last) text += "\n}\n";
    const std::size_t bytes = text.size() + 1;
    post([writer = writer_,
          text = std::move(text)] { return write_all(writer->checkpoint.get(), text) ? 0 : errno; },
         bytes,
         [this, last] {
             if (checkpoints_) last ? end_checkpoint() : write_checkpoint();
         });
}

void HistoryLog::end_checkpoint() {
    checkpoints_ = false;
    post(
        [writer = writer_, &files = files_, cut = cuts_]() -> int {
            if (!files.end_checkpoint(writer->day, writer->checkpoint.get())) return errno;
            writer->checkpoint.reset();
            if (!cut || writer->begins == 0) return 0;
            const auto tail = [&](int file) { return copy_tail(writer->log.get(), writer->begins, file); };
            if (!files.replace(writer->day, "log", tail)) return errno;
            writer->log = files.append_log(writer->day);
            return writer->log.valid() ? 0 : errno;
        },
        1,
        [this] {
            if (std::exchange(said_, false)) say_("history: changes are written again");
        });
    if (std::exchange(cuts_, false)) day_bytes_ = tail_bytes_;
}

void HistoryLog::write_heard(Instant now) {
    next_heard_ = now + limits_.heard_every;
    std::string text;
    for (auto at = table_.behind(nullptr); at != table_.end(); ++at)
        text += std::to_string(at->second.record.integer_of("lastheardfrom")) +
                (at->second.by_udp ? " udp " : " tcp ") + word_of_key(at->first.key) + "\n";
    const std::size_t bytes = text.size() + 1;
    post([&files = files_, text = std::move(text)] { return files.replace_heard(text) ? 0 : errno; }, bytes);
}

void HistoryLog::tick(Instant now) {
    flush();
    const Day today = day_of(seconds());
    const bool new_day = day_ != today;
    if (!new_day && day_bytes_ > limits_.bytes / parts_of_space) {
        if (now >= next_checkpoint_)
            cuts_ = true;
        else if (!leaves_out_)
            leave_out("today's part of its space is used up");
    }
    day_ = today;
    if (!checkpoints_ && (new_day || (cuts_ && now >= next_checkpoint_))) begin_checkpoint(now);
    if (now >= next_heard_ && !leaves_out_) write_heard(now);
    if (now < next_cleaning_) return;
    next_cleaning_ = now + cleaned_every;
    post([&files = files_, most = limits_.bytes] { return files.remove_oldest(most), 0; }, 1);
}

}  // namespace wq::net::catalog_server
