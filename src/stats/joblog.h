// joblog.tsv: GNU parallel's columns, a line for every attempt that ended, in the journal's order. Line n
// belongs to the journal's n-th task record: a resumed run makes the file anew from both, since the numbers
// of tasks change with the list, and commands stand only here and there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stats/mapped_file.h"
#include "stats/records.h"

namespace wq::stats {

inline constexpr std::string_view joblog_heading =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

// Exitval is -1 where the process itself said nothing: timed out, killed, lost, never ran.
void put_joblog_line(std::string& out, const TaskRecord& record, std::string_view host,
                     std::string_view command);

// The lines of an earlier run, one by one; none when there is no such file.
class EarlierJoblog {
  public:
    explicit EarlierJoblog(const std::string& path);
    // The next whole line, with its newline; empty: there are no more.
    std::string_view next();

  private:
    Result<MappedFile> file_;
    std::string_view rest_;
};
// The line with another number in front.
void put_renumbered_line(std::string& out, TaskId task, std::string_view line);

}  // namespace wq::stats
