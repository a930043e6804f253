#include "programs/run/run_place.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/units.h"
#include "node/machine/batch_job.h"
#include "records/hdf5/stats_log.h"
#include "records/journal/append_file.h"
#include "records/journal/journal.h"

namespace wq::programs::run {

namespace fs = std::filesystem;

namespace {

class EndsByKey : public records::journal::JournalVisitor {
  public:
    EndsByKey(manager::run::EarlierRun& run, bool forget_failed) : run_(run), forget_failed_(forget_failed) {}
    void task(const records::journal::TaskRecord& record) override {
        Attempt& attempts = run_.attempts[record.key.value];
        attempts = std::max(attempts, record.attempt);
        if (!record.final) return;
        const bool runs_again = forget_failed_ && !record.outcome.succeeded();
        if (!runs_again) run_.attempts.erase(record.key.value);
        if (record.outcome.succeeded())
            run_.ends[record.key.value] = manager::run::EarlierRun::End::done;
        else if (forget_failed_)
            run_.ends.erase(record.key.value);
        else
            run_.ends[record.key.value] = manager::run::EarlierRun::End::failed;
    }
    void worker(const records::journal::WorkerRecord&) override {}
    void sample(const records::journal::Sample&) override {}

  private:
    manager::run::EarlierRun& run_;
    bool forget_failed_;
};

std::string base_name(const manager::run::SourceSpec& source) {
    switch (source.kind) {
        case manager::run::SourceSpec::Kind::array:
            return "array.wq";
        case manager::run::SourceSpec::Kind::shared:  // perhaps on another machine
            return fs::path(source.path.substr(source.path.rfind(':') + 1)).filename().string() + ".wq";
        case manager::run::SourceSpec::Kind::each:
        case manager::run::SourceSpec::Kind::list:
            if (source.path == "-") return "stdin.wq";
            // No directory next to /dev/null or the file of a shell's <(...).
            if (source.path.starts_with("/dev/") || source.path.starts_with("/proc/"))
                return fs::path(source.path).filename().string() + ".wq";
            return source.path + ".wq";
    }
    return "run.wq";
}

// Describes the difference if the names of two sources are equal.
std::string other_source(const manager::run::SourceSpec& source, const std::string& held) {
    const bool same_name = fs::path(held).filename() == fs::path(source.name()).filename();
    const bool arrays = source.kind == manager::run::SourceSpec::Kind::array && held.starts_with("--array ");
    if (arrays || (same_name && source.kind == manager::run::SourceSpec::Kind::each)) {
        std::string command;
        for (const std::string& word : source.command) command += (command.empty() ? "" : " ") + word;
        return "holds the run of " + held + " with another command, not with " + quote_for_message(command);
    }
    if (same_name) return "holds the run of --each " + held + ", not of the task list";
    return "holds the run of " + held + ", not of " + source.name();
}

bool has_journal(const fs::path& directory) {
    std::error_code ignored;
    return fs::exists(directory / "journal", ignored);
}

// The newest of `base` and `base-*` that has a journal; empty: none.
std::string newest_run(const fs::path& base) {
    std::error_code ignored;
    fs::path newest;
    fs::file_time_type newest_time;
    const fs::path folder = base.has_parent_path() ? base.parent_path() : fs::path(".");
    const std::string name = base.filename().string();
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const std::string found = entry.path().filename().string();
        if ((found != name && !found.starts_with(name + "-")) || !has_journal(entry.path())) continue;
        const fs::file_time_type time = fs::last_write_time(entry.path() / "journal", ignored);
        if (!newest.empty() && time <= newest_time) continue;
        newest = base.has_parent_path() ? entry.path() : fs::path(found);
        newest_time = time;
    }
    return newest.string();
}

// Of sources whose runs are always new: a shared list knows what is done, and standard input has no name.
bool starts_anew(const manager::run::SourceSpec& source) {
    return source.kind == manager::run::SourceSpec::Kind::shared || source.path == "-";
}

// `own`, or the first free of own-2, own-3 ...
std::string unused(const std::string& own) {
    std::string path = own;
    std::error_code ignored;
    for (int number = 2; fs::exists(path, ignored); ++number) path = own + "-" + std::to_string(number);
    return path;
}

}  // namespace

std::string choose_run_directory(const RunOptions& options, const std::string& job_id) {
    if (!options.run_directory.empty()) return options.run_directory;
    const std::string base = base_name(options.source);
    const std::string own = job_id.empty() ? base : base + "-" + job_id;
    if (!options.resume) return starts_anew(options.source) ? unused(own) : own;
    std::string newest = starts_anew(options.source) ? newest_run(own) : has_journal(own) ? own : "";
    if (newest.empty()) newest = newest_run(base);
    return newest.empty() ? own : newest;
}

std::string directory_of_run(const std::string& list_or_directory) {
    std::error_code unknown;
    if (!fs::is_regular_file(list_or_directory, unknown)) return list_or_directory;
    RunOptions list;
    list.source.path = list_or_directory;
    list.resume = true;
    return choose_run_directory(list, node::machine::batch_job(node::machine::batch_environment()));
}

bool is_of_a_run(const std::string& path) {
    return has_journal(path) || records::journal::RunDirectory::is_taken(path);
}

Status check_stats_log(const std::string& path) {
    if (path.empty()) return success();
    const fs::path folder = fs::path(path).parent_path();
    const bool there = ::access(path.c_str(), F_OK) == 0;
    const std::string target = there ? path : folder.empty() ? "." : folder.string();
    int problem = ::access(target.c_str(), W_OK) == 0 ? 0 : errno;
    std::error_code unknown;
    if (problem == 0 && there && fs::is_directory(path, unknown)) problem = EISDIR;
    if (problem == 0) {
        const Status ours = records::journal::TextLog::check(path, records::hdf5::stats_log_heading());
        return ours ? ours : Error{ours.error().code, "--stats-log: " + ours.error().message};
    }
    return Error{problem == EACCES || problem == EROFS ? ExitCode::not_allowed : ExitCode::usage,
                 "--stats-log: " + path + " cannot be written: " + std::generic_category().message(problem)};
}

Status make_summary_folder(const std::string& path) {
    if (path.empty()) return success();
    std::error_code problem;
    fs::create_directories(path, problem);
    if (!problem && !fs::is_directory(path, problem))
        problem = std::make_error_code(std::errc::not_a_directory);
    if (!problem && ::access(path.c_str(), W_OK | X_OK) != 0)
        problem = std::error_code(errno, std::generic_category());
    if (!problem) return success();
    const bool forbidden = problem == std::errc::permission_denied ||
                           problem == std::errc::operation_not_permitted ||
                           problem == std::errc::read_only_file_system;
    return Error{forbidden ? ExitCode::not_allowed : ExitCode::usage,
                 "--monitor-output: " + path + " cannot be used: " + problem.message()};
}

Result<std::optional<manager::run::EarlierRun>> earlier_run(const RunOptions& options,
                                                            const std::string& path) {
    if (!has_journal(path)) return std::optional<manager::run::EarlierRun>();
    manager::run::EarlierRun earlier;
    EndsByKey ends(earlier, options.resume_failed);
    const auto journal = records::journal::scan_journal(path + "/journal", ends);
    if (!journal) return journal.error();
    if (journal->header.source_fingerprint != options.source.fingerprint())
        return Error{ExitCode::bad_input, path + " " +
                                              other_source(options.source, journal->header.list_name) +
                                              "; use another --run-dir, or resume that run"};
    return std::optional(std::move(earlier));
}

Result<RunPlace> take_run_place(const RunOptions& options, const std::string& path) {
    using Use = records::journal::RunDirectory::Use;
    auto directory =
        records::journal::RunDirectory::take(path, options.resume ? Use::resume_or_fresh : Use::fresh);
    if (!directory) return directory.error();
    RunPlace place{std::move(*directory), {}, false};
    auto earlier = earlier_run(options, path);
    if (!earlier) return earlier.error();
    place.resumed = earlier->has_value();
    if (place.resumed) place.earlier = std::move(**earlier);
    return place;
}

}  // namespace wq::programs::run
