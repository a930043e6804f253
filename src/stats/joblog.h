// joblog.tsv: GNU parallel's columns, a line for every attempt that ended, in the journal's order. Line n
// belongs to the journal's n-th task record: that is how a resumed run finds what is missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "stats/records.h"

namespace wq::stats {

inline constexpr std::string_view joblog_heading =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

// Exitval is -1 where the process itself said nothing: timed out, killed, lost, never ran.
void put_joblog_line(std::string& out, const TaskRecord& record, std::string_view host,
                     std::string_view command);

// Whole lines below the heading; 0 when there is no such file.
std::uint64_t joblog_lines(const std::string& path);
// Keeps the heading and the first `lines` lines.
Status cut_joblog(const std::string& path, std::uint64_t lines);

}  // namespace wq::stats
