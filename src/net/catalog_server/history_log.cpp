#include "net/catalog_server/history_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <unordered_map>

#include "base/read_write.h"
#include "base/text.h"
#include "base/units.h"
#include "net/catalog/record.h"
#include "net/catalog_server/history_replay.h"
#include "net/frames/http_request.h"

namespace wq::net::catalog_server {

namespace {

constexpr int below_folder = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // of a FIFO, too, nobody waits
constexpr const char* heard_name = "heard";

std::string name_in_year(Day day, std::string_view kind) {
    return std::to_string(day.day) + "." + std::string(kind);
}

Descriptor plain_file(int folder, const std::string& name, int flags) {
    Descriptor file(::openat(folder, name.c_str(), flags | below_folder, 0644));
    struct stat about {};
    if (!file.valid()) return file;
    if (::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode)) return file;
    errno = EINVAL;
    return Descriptor();
}

std::optional<int> number_of(std::string_view text) {
    const auto number = number_in<int>(text);
    return number.value_or(-1) >= 0 ? number : std::nullopt;
}

// Names in a folder; of a folder that cannot be read, none.
std::vector<std::string> names_in(Descriptor folder) {
    std::vector<std::string> names;
    DIR* const listing = folder.valid() ? ::fdopendir(folder.get()) : nullptr;
    if (listing == nullptr) return names;
    folder.release();
    const std::unique_ptr<DIR, int (*)(DIR*)> closed(listing, ::closedir);
    while (const dirent* const entry = ::readdir(listing)) names.emplace_back(entry->d_name);
    return names;
}

std::string in_progress(std::string_view name) {
    return std::string(name) + ".new";
}

bool replace_in(int folder, const std::string& name, const std::function<bool(int)>& write) {
    Descriptor file = plain_file(folder, in_progress(name), O_WRONLY | O_CREAT | O_TRUNC);
    return file.valid() && write(file.get()) &&
           ::renameat(folder, in_progress(name).c_str(), folder, name.c_str()) == 0;
}

}  // namespace

Day day_of(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    return {parts.tm_year + 1900, parts.tm_yday};
}

Result<HistoryFiles> HistoryFiles::open(const std::string& folder) {
    const auto fails = [&](const std::string& why) {
        return Error{ExitCode::bad_input, "history in " + folder + ": " + why};
    };
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return fails(std::strerror(errno));
    Descriptor root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root.valid()) return fails(std::strerror(errno));
    if (::flock(root.get(), LOCK_EX | LOCK_NB) != 0)
        return fails(errno == EWOULDBLOCK ? "another server uses it" : std::strerror(errno));
    return HistoryFiles(folder, std::move(root));
}

Descriptor HistoryFiles::make_year(Day day) const {
    ::mkdirat(root_.get(), std::to_string(day.year).c_str(), 0755);
    return open_year(day);
}

Descriptor HistoryFiles::open_year(Day day) const {
    const std::string name = std::to_string(day.year);
    return Descriptor(::openat(root_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | below_folder));
}

std::vector<Day> HistoryFiles::days() const {
    std::vector<Day> found;
    for (const std::string& year :
         names_in(Descriptor(::openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | below_folder)))) {
        const auto number = number_of(year);
        if (!number) continue;
        for (const std::string& name : names_in(open_year({*number, 0}))) {
            const std::size_t point = name.find('.');
            const std::string_view kind = std::string_view(name).substr(std::min(point + 1, name.size()));
            const auto day = number_of(std::string_view(name).substr(0, point));
            if (day && *day < 366 && (kind == "log" || kind == "ckpt")) found.push_back({*number, *day});
        }
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

Descriptor HistoryFiles::read(Day day, std::string_view kind) const {
    const Descriptor year = open_year(day);
    return year.valid() ? plain_file(year.get(), name_in_year(day, kind), O_RDONLY) : Descriptor();
}

bool HistoryFiles::has(Day day, std::string_view kind) const {
    return read(day, kind).valid();
}

Descriptor HistoryFiles::read_heard() const {
    return plain_file(root_.get(), heard_name, O_RDONLY);
}

Descriptor HistoryFiles::append_log(Day day) const {
    const Descriptor year = make_year(day);
    if (!year.valid()) return Descriptor();
    Descriptor log = plain_file(year.get(), name_in_year(day, "log"), O_RDWR | O_CREAT | O_APPEND);
    if (!log.valid()) return log;
    const off_t size = ::lseek(log.get(), 0, SEEK_END);
    char last = '\n';
    if (size > 0 && ::pread(log.get(), &last, 1, size - 1) == 1 && last != '\n' &&
        !write_all(log.get(), "\n"))
        return Descriptor();
    return log;
}

bool HistoryFiles::replace(Day day, std::string_view kind, const std::function<bool(int)>& write) const {
    const Descriptor year = make_year(day);
    return year.valid() && replace_in(year.get(), name_in_year(day, kind), write);
}

bool HistoryFiles::replace_heard(std::string_view text) const {
    return replace_in(root_.get(), heard_name, [&](int file) { return write_all(file, text); });
}

Descriptor HistoryFiles::begin_checkpoint(Day day) const {
    const Descriptor year = make_year(day);
    if (!year.valid()) return Descriptor();
    return plain_file(year.get(), in_progress(name_in_year(day, "ckpt")), O_WRONLY | O_CREAT | O_TRUNC);
}

bool HistoryFiles::end_checkpoint(Day day, int written) const {
    const Descriptor year = open_year(day);
    const std::string name = name_in_year(day, "ckpt");
    return year.valid() && ::fdatasync(written) == 0 &&
           ::renameat(year.get(), in_progress(name).c_str(), year.get(), name.c_str()) == 0;
}

std::int64_t HistoryFiles::remove_oldest(std::int64_t most) const {
    const std::vector<Day> all = days();
    std::vector<std::int64_t> bytes;
    std::int64_t sum = 0;
    for (const Day day : all) {
        std::int64_t of_day = 0;
        for (const char* const kind : {"log", "ckpt"}) {
            struct stat about {};
            const Descriptor file = read(day, kind);
            if (file.valid() && ::fstat(file.get(), &about) == 0) of_day += about.st_size;
        }
        bytes.push_back(of_day);
        sum += of_day;
    }
    for (std::size_t at = 0; at + 1 < all.size() && sum > most; ++at) {
        const Descriptor year = open_year(all[at]);
        if (!year.valid()) continue;
        for (const char* const kind : {"log", "ckpt", "ckpt.new"})
            ::unlinkat(year.get(), name_in_year(all[at], kind).c_str(), 0);
        sum -= bytes[at];
        if (all[at + 1].year != all[at].year)
            ::unlinkat(root_.get(), std::to_string(all[at].year).c_str(), AT_REMOVEDIR);
    }
    return sum;
}

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
    catalog::Protocol protocol = catalog::Protocol::udp;
};

std::unordered_map<std::string, Heard> read_heard(Descriptor file) {
    std::unordered_map<std::string, Heard> all;
    HistoryLines reader(std::move(file));
    std::string_view line;
    while (reader.next(line)) {
        const auto seconds = take_number<std::int64_t>(line);
        if (!seconds || line.size() < 6 || (!line.starts_with(" tcp ") && !line.starts_with(" udp ")))
            continue;
        all[frames::percent_decoded(line.substr(5))] = {
            *seconds, line[1] == 'u' ? catalog::Protocol::udp : catalog::Protocol::tcp};
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
        Heard last{record.integer_of("lastheardfrom"), catalog::Protocol::udp};
        if (const auto found = heard.find(key); found != heard.end())
            last = {std::max(last.seconds, found->second.seconds), found->second.protocol};
        const std::int64_t age = std::max<std::int64_t>(0, latest_ - last.seconds);
        const Duration lifetime = catalog::lifetime_of(record, of_table.lifetime);
        if (age >= std::chrono::duration_cast<std::chrono::seconds>(lifetime).count()) continue;
        table_.restore(key, record.with({{"lastheardfrom", std::to_string(last.seconds)}}), last.protocol,
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
    if (seconds() != written_time_) lines_ += "T " + std::to_string(latest_) + "\n";
    written_time_ = latest_;
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
    written_time_ = tail_bytes_ = 0;
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
                (at->second.protocol == catalog::Protocol::udp ? " udp " : " tcp ") +
                word_of_key(at->first.key) + "\n";
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
    post(
        [&files = files_, most = limits_.bytes] {
            files.remove_oldest(most);
            return 0;
        },
        1);
}

}  // namespace wq::net::catalog_server
