#include "shared_list/replica/record_log.h"

#include <algorithm>
#include <ranges>

namespace wq::shared_list::replica {

namespace {

// Workers with equal ways to the master are refused often, too, but not for long.
constexpr int many_refusals = 10;
constexpr Duration long_time = std::chrono::seconds(1);

}  // namespace

void Turns::asked(std::string_view name) {
    if (std::ranges::find(names_, name) == names_.end()) names_.emplace_back(name);
}

void Turns::made(std::string_view token) {
    if (names_.empty()) return;
    const std::string_view name = token.substr(0, token.find('.'));
    while (!names_.empty()) {
        const bool is_last = names_.front() == name;
        names_.pop_front();
        ++first_;
        if (is_last) break;
    }
}

std::size_t Turns::before(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

bool Tries::refused(Instant now) {
    if (++refused_ < many_refusals || now - since_ < long_time) return false;
    refused_ = 0;
    since_ = now;
    ++turns_;
    return true;
}

namespace {

constexpr std::string_view file_word = "FILE ";
constexpr std::string_view turn_word = "TURN ";

}  // namespace

Status RecordLog::begin(std::string_view bytes) {
    *this = RecordLog();
    const Status taken = append(bytes);
    lacks_record_ = false;  // all who read the whole log lack the same
    return taken;
}

Status RecordLog::append(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        if (end == std::string_view::npos) {
            partial_ += bytes;
            break;
        }
        const std::string line = std::exchange(partial_, {}) + std::string(bytes.substr(0, end));
        bytes.remove_prefix(end + 1);
        if (auto taken = take_line(line); !taken) return taken;
    }
    return success();
}

Status RecordLog::take_line(std::string_view line) {
    if (line.starts_with(file_word)) {
        files_.push_back({std::string(line.substr(file_word.size())), records_.size()});
        return success();
    }
    if (line.starts_with(turn_word)) {
        turns_.asked(line.substr(turn_word.size()));
        return success();
    }
    auto record = text::record_of(line);
    if (!record) return success();  // torn, or the log's name
    if (record->sequence < next_) {
        lock_failed_ = true;
        return Error{ExitCode::bad_input,
                     "two workers changed the list at the same time: its file system does not lock "
                     "(flock); keep the list on a local disk of the master, and let all workers use ssh"};
    }
    if (record->sequence > next_ && !records_.empty()) lacks_record_ = true;
    next_ = record->sequence + 1;
    turns_.made(record->token);
    records_.push_back(std::move(*record));
    return success();
}

std::optional<std::size_t> RecordLog::records_in(std::string_view identity) const {
    for (const File& file : std::ranges::reverse_view(files_)) {
        if (file.identity == identity) return file.records;
    }
    return std::nullopt;
}

bool RecordLog::is_reread_after(std::size_t known) const {
    return std::any_of(records_.begin() + static_cast<std::ptrdiff_t>(known), records_.end(),
                       [](const text::Record& record) { return record.reread; });
}

std::size_t RecordLog::written(std::string_view left_aside) const {
    for (const File& file : std::ranges::reverse_view(files_)) {
        if (file.identity != left_aside) return file.records;
    }
    return 0;
}

bool RecordLog::has(std::string_view token) const {
    return std::ranges::any_of(std::ranges::reverse_view(records_),
                               [&](const text::Record& record) { return record.token == token; });
}

std::size_t RecordLog::appended(std::string_view name, std::string_view text) const {
    // More may have been appended since.
    const std::string_view same_bytes = name.substr(0, name.find('-'));
    std::size_t most = 0;
    for (const text::Record& record : records_) {
        for (const text::Edit& edit : record.edits) {
            const auto* const append = std::get_if<text::Append>(&edit);
            if (append == nullptr || append->from.empty() || !text.starts_with(append->text)) continue;
            if (append->from.substr(0, append->from.find('-')) == same_bytes)
                most = std::max(most, append->text.size());
        }
    }
    return most;
}

}  // namespace wq::shared_list::replica
