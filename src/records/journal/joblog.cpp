#include "records/journal/joblog.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "records/journal/append_file.h"
#include "records/journal/records.h"

namespace wq::records::journal {

namespace {

std::int64_t exit_value(const engine::model::Outcome& outcome) {
    const bool by_itself = outcome.ending == engine::model::Ending::exited ||
                           outcome.ending == engine::model::Ending::signalled ||
                           outcome.ending == engine::model::Ending::not_started;
    return by_itself || outcome.exit_code != 0 ? outcome.exit_code : -1;
}

void put_command(std::string& out, std::string_view command) {
    for (const char c : command) out += c == '\n' || c == '\r' ? ' ' : c;
}

}  // namespace

void put_joblog_line(std::string& out, const TaskRecord& record, std::string_view host,
                     std::string_view command) {
    const engine::model::Outcome& outcome = record.outcome;
    put_number(out, task_number(record.task)), out += '\t';
    put_word(out, host.empty() ? "-" : host, '_'), out += '\t';
    put_seconds(out, outcome.started_us, 3), out += '\t';
    put_seconds(out, outcome.wall_us, 3), out += "\t0\t";
    put_number(out, outcome.stdout_bytes + outcome.stderr_bytes), out += '\t';
    put_number(out, exit_value(outcome)), out += '\t';
    put_number(out, std::int64_t{outcome.signal}), out += '\t';
    put_command(out, command), out += '\n';
}

EarlierJoblog::EarlierJoblog(const std::string& path) : file_(MappedFile::open(path)) {
    if (file_ && file_->bytes().starts_with(joblog_heading))
        rest_ = file_->bytes().substr(joblog_heading.size());
}

std::string_view EarlierJoblog::next() {
    const auto end = rest_.find('\n');
    if (end == std::string_view::npos) return {};
    const std::string_view line = rest_.substr(0, end + 1);
    rest_.remove_prefix(line.size());
    return line;
}

void JoblogCommands::read() {
    is_read_ = true;
    if (!file_ || !file_->bytes().starts_with(joblog_heading)) return;
    std::string_view rest = file_->bytes().substr(joblog_heading.size());
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        std::uint64_t number = 0;
        const auto [after, bad] = std::from_chars(line.data(), line.data() + line.size(), number);
        if (bad == std::errc()) lines_.emplace_back(number, line.substr(static_cast<std::size_t>(after - line.data())));
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::string_view JoblogCommands::command_of(std::uint64_t task_number) {
    if (!is_read_) read();
    const auto found = std::lower_bound(lines_.begin(), lines_.end(), task_number,
                                        [](const auto& line, std::uint64_t number) { return line.first < number; });
    if (found == lines_.end() || found->first != task_number) return {};
    std::string_view line = found->second;
    for (int column = 0; column < 8; ++column) {
        const auto tab = line.find('\t');
        if (tab == std::string_view::npos) return {};
        line.remove_prefix(tab + 1);
    }
    return line;
}

void put_renumbered_line(std::string& out, TaskId task, std::string_view line) {
    put_number(out, task_number(task));
    out += line.substr(std::min(line.find('\t'), line.size() - 1));
}

}  // namespace wq::records::journal
