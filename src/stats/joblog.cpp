#include "stats/joblog.h"

#include <algorithm>

#include "stats/append_file.h"
#include "stats/mapped_file.h"
#include "stats/task_number.h"
#include "stats/text_log.h"

namespace wq::stats {

namespace {

std::int64_t exit_value(const core::Outcome& outcome) {
    const bool by_itself = outcome.ending == core::Ending::exited ||
                           outcome.ending == core::Ending::signalled ||
                           outcome.ending == core::Ending::not_started;
    return by_itself || outcome.exit_code != 0 ? outcome.exit_code : -1;
}

void put_command(std::string& out, std::string_view command) {
    for (const char c : command) out += c == '\n' || c == '\r' ? ' ' : c;
}

}  // namespace

void put_joblog_line(std::string& out, const TaskRecord& record, std::string_view host,
                     std::string_view command) {
    const core::Outcome& outcome = record.outcome;
    put_number(out, task_number(record.task)), out += '\t';
    put_word(out, host.empty() ? "-" : host, '_'), out += '\t';
    put_seconds(out, outcome.started_us, 3), out += '\t';
    put_seconds(out, outcome.wall_us, 3), out += "\t0\t";
    put_number(out, outcome.stdout_bytes + outcome.stderr_bytes), out += '\t';
    put_number(out, exit_value(outcome)), out += '\t';
    put_number(out, std::int64_t{outcome.signal}), out += '\t';
    put_command(out, command), out += '\n';
}

std::uint64_t joblog_lines(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file || !file->bytes().starts_with(joblog_heading)) return 0;
    const std::string_view bytes = file->bytes();
    return static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n')) - 1;
}

Status cut_joblog(const std::string& path, std::uint64_t lines) {
    std::size_t keep = 0;
    {
        const auto file = MappedFile::open(path);
        if (file && file->bytes().starts_with(joblog_heading)) {
            keep = joblog_heading.size();
            for (; lines > 0; --lines) {
                const auto at = file->bytes().find('\n', keep);
                if (at == std::string_view::npos) break;
                keep = at + 1;
            }
        }
    }
    const auto file = AppendFile::open(path, keep);
    if (!file) return file.error();
    return success();
}

}  // namespace wq::stats
