// joblog.tsv: GNU parallel's columns, one line per ended attempt, in the journal's order. Line n belongs to
// the journal's n-th task record: a resumed run regenerates the file from both, since task numbers change
// with the list, and only this file has every command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "records/journal/append_file.h"
#include "records/journal/records.h"

namespace wq::records::journal {

inline constexpr std::string_view joblog_heading =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

// Exitval is -1 if the process has no exit code: timed out, killed, lost, never ran.
void put_joblog_line(std::string& out, const TaskRecord& record, std::string_view host,
                     std::string_view command);

// The lines of an earlier run, one by one; none if there is no such file.
class EarlierJoblog {
  public:
    explicit EarlierJoblog(const std::string& path);
    // The next complete line, with its newline; empty at the end.
    std::string_view next();

  private:
    Result<MappedFile> file_;
    std::string_view rest_;
};

// The commands of tasks in a joblog, by their numbers.
class JoblogCommands {
  public:
    explicit JoblogCommands(const std::string& path) : file_(MappedFile::open(path)) {}
    // Reads the file at the first call. Empty: the file does not have it.
    std::string_view command_of(std::uint64_t task_number);

  private:
    void read();

    Result<MappedFile> file_;
    std::vector<std::pair<std::uint64_t, std::string_view>> lines_;  // without the number; by number
    bool is_read_ = false;
};

// The line with a new task number.
void put_renumbered_line(std::string& out, TaskId task, std::string_view line);

}  // namespace wq::records::journal
