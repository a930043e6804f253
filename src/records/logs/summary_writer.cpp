#include "records/logs/summary_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/read_write.h"
#include "base/signals.h"
#include "base/units.h"
#include "records/journal/resource_summary.h"

namespace wq::records::logs {

namespace {

struct Gathered {
    std::mutex mutex;
    bool begun = false;
};

// Never destroyed: a thread that a folder blocked may return while the process ends.
std::shared_ptr<Gathered> gathered_at(const std::string& path) {
    static auto& mutex = *new std::mutex;
    static auto& all = *new std::map<std::string, std::shared_ptr<Gathered>>;
    const std::lock_guard lock(mutex);
    std::shared_ptr<Gathered>& one = all[path];
    if (!one) one = std::make_shared<Gathered>();
    return one;
}

// Links it to the first free name; "": the file system has no links.
std::string linked_aside(const std::string& path) {
    for (int number = 1;; ++number) {
        std::string aside = path + "." + std::to_string(number);
        if (::link(path.c_str(), aside.c_str()) == 0) return aside;
        if (errno != EEXIST) return "";
    }
}

// Keeps the file of an earlier process with our pid, or of one on another host: it is somebody's data. If it
// can have no other name, or another user owns it in a folder that does not allow removing its name, we
// append to it.
void put_aside(const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const std::string aside = linked_aside(path);
    if (!aside.empty() && ::unlink(path.c_str()) != 0) ::unlink(aside.c_str());
}

}  // namespace

int append_summary(const std::string& path, const std::string& line) {
    const std::shared_ptr<Gathered> gathered = gathered_at(path);
    const std::lock_guard lock(gathered->mutex);
    if (!gathered->begun) put_aside(path);
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
    if (!file.valid()) return errno;
    gathered->begun = true;
    const off_t whole_lines = ::lseek(file.get(), 0, SEEK_END);
    const int error = write_all(file.get(), line) ? 0 : errno;
    // Half a line would also spoil the next one. If truncating fails, too, the reader skips both.
    if (error != 0 && whole_lines >= 0) [[maybe_unused]]
        const int cut = ::ftruncate(file.get(), whole_lines);
    return error;
}

namespace {

// Line ends in JSON are only layout: strings contain none.
std::string in_one_line(const std::string& json) {
    std::string line;
    bool at_start = false;
    for (const char c : json) {
        if (c == '\n') {
            at_start = true;
        } else if (!at_start || c != ' ') {
            at_start = false;
            line += c;
        }
    }
    return line + '\n';
}

std::string folders_of(const TaskSummary& summary) {
    if (summary.of_task.empty() || summary.of_task == summary.of_all) return summary.of_all;
    return summary.of_task + (summary.of_all.empty() ? "" : " and " + summary.of_all);
}

}  // namespace

struct SummaryWriter::Job {
    TaskSummary summary;
    std::promise<void> written;

    std::uint64_t bytes() const {
        return sizeof(Job) + summary.category.size() + summary.command.size() + summary.host.size() +
               summary.of_task.size() + summary.of_all.size();
    }
};

struct SummaryWriter::Shared {
    Shared(SummaryLimits with, SummaryCalls whom) : limits(with), calls(std::move(whom)) {}

    void write(Job& job);
    void write_files(const TaskSummary& summary);
    void report_trouble(const std::string& folder, const std::string& trouble);
    void ended(const Job& job);
    // Returns whether something was written in that time, or nothing is left to write.
    bool moves(std::unique_lock<std::mutex>& lock, Duration limit);
    std::string what_waits() const;

    const SummaryLimits limits;
    const SummaryCalls calls;
    const Wake fewer;
    std::atomic<std::uint64_t> bytes{0};
    std::set<std::string> told;  // folders; used by the thread

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Job> jobs;  // the first one is being written
    std::uint64_t written = 0;
    Instant since;  // start time of the first job
    bool full = false;
    bool over = false;

    std::mutex outside;  // held while the thread calls others
    bool left_alone = false;
};

// ---- the writer's thread ----

// A summary that cannot be written is missing, such as without memory, but does not hold up its task.
void SummaryWriter::Shared::write(Job& job) {
    const std::string& folder = job.summary.of_all.empty() ? job.summary.of_task : job.summary.of_all;
    try {
        write_files(job.summary);
    } catch (const std::exception& error) {
        try {
            report_trouble(folder, folder + ": " + error.what());
        } catch (const std::exception&) {  // then without a message
        }
    }
    job.written.set_value();
}

void SummaryWriter::Shared::write_files(const TaskSummary& summary) {
    const std::string json =
        journal::resource_summary(summary.record, {summary.category, summary.command, summary.host});
    const std::string series = journal::resource_series(summary.record);
    const std::int64_t pid = ::getpid();
    const std::uint64_t number = journal::task_number(summary.record.task);
    const auto write = [&](const std::string& folder, const std::string& text, const char* kind) {
        if (text.empty()) return;
        const Status done = journal::write_resource_summary(folder, pid, number, text, kind);
        if (!done) report_trouble(folder, done.error().message);
    };
    const std::set<std::string> folders{summary.of_task, summary.of_all};
    for (const std::string& folder : folders) {
        if (folder.empty()) continue;
        write(folder, json, "summary");
        write(folder, series, "series");
        if (!series.empty()) write(folder, engine::model::describe(summary.record.outcome) + "\n", "debug");
    }
    if (!summary.of_all.empty()) {
        const std::string path = summary.of_all + "/wq-" + std::to_string(pid) + ".summaries";
        if (const int error = append_summary(path, in_one_line(json)); error != 0)
            report_trouble(summary.of_all, path + ": " + std::system_category().message(error));
    }
}

void SummaryWriter::Shared::report_trouble(const std::string& folder, const std::string& trouble) {
    if (told.contains(folder)) return;
    {
        const std::lock_guard lock(outside);
        if (!left_alone) calls.say("a summary cannot be written: " + trouble);
    }
    told.insert(folder);
}

void SummaryWriter::Shared::ended(const Job& job) {
    const std::lock_guard lock(outside);
    if (!left_alone) calls.written(job.summary.id);
}

void SummaryWriter::run(const std::shared_ptr<Shared>& shared) {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->changed.wait(lock, [&] { return shared->over || !shared->jobs.empty(); });
        if (shared->jobs.empty()) return;
        Job& job = shared->jobs.front();
        lock.unlock();
        shared->write(job);
        shared->ended(job);
        lock.lock();
        const std::uint64_t left = shared->bytes -= job.bytes();
        shared->jobs.pop_front();
        ++shared->written;
        shared->since = instant_now();
        if (shared->full && left <= shared->limits.most_bytes / 2) {
            shared->full = false;
            shared->fewer.set();
        }
        shared->changed.notify_all();
    }
}

// ---- the manager's thread ----

SummaryWriter::SummaryWriter(SummaryLimits limits, SummaryCalls calls)
    : shared_(std::make_shared<Shared>(limits, std::move(calls))) {}

std::shared_future<void> SummaryWriter::queue_summary(TaskSummary summary) {
    Job job{std::move(summary), {}};
    std::shared_future<void> written = job.written.get_future().share();
    if (!thread_.joinable()) try {
            thread_ = quiet_thread([shared = shared_] { run(shared); });
        } catch (const std::system_error&) {
            shared_->write(job);
            return written;
        }
    std::string many;
    {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->jobs.empty()) shared_->since = instant_now();
        shared_->bytes += job.bytes();
        shared_->jobs.push_back(std::move(job));
        shared_->full = shared_->full || shared_->bytes > shared_->limits.most_bytes;
        if (shared_->full && !std::exchange(told_of_many_, true))
            many = shared_->what_waits() + ": no task is dispatched until some are written";
    }
    shared_->changed.notify_all();
    if (!many.empty()) shared_->calls.say(many);
    return written;
}

std::uint64_t SummaryWriter::backlog_bytes() const {
    return shared_->fewer.valid() ? shared_->bytes.load() : 0;
}

int SummaryWriter::descriptor() const {
    return shared_->fewer.descriptor();
}

void SummaryWriter::settle() {
    shared_->fewer.clear();
}

std::string SummaryWriter::Shared::what_waits() const {
    const std::size_t count = jobs.size();
    return (count == 1 ? "a summary waits" : std::to_string(count) + " summaries wait") +
           " to be written to " + folders_of(jobs.front().summary);
}

std::optional<Instant> SummaryWriter::watch(Instant now) {
    if (shared_->bytes == 0) return std::nullopt;
    std::string line;
    {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->jobs.empty() || told_at_ == shared_->written) return std::nullopt;
        const Instant due = shared_->since + shared_->limits.hang_limit;
        if (now < due) return due;
        told_at_ = shared_->written;
        line = shared_->what_waits() + ", which has not responded for " +
               format_duration(shared_->limits.hang_limit) +
               ": wait() returns a task after its summary is written";
    }
    shared_->calls.say(line);
    return std::nullopt;
}

// ---- the end ----

bool SummaryWriter::Shared::moves(std::unique_lock<std::mutex>& lock, Duration limit) {
    const std::uint64_t before = written;
    return changed.wait_for(lock, limit, [&] { return jobs.empty() || written != before; });
}

void SummaryWriter::finish() {
    if (!thread_.joinable()) return;
    const Duration hang_limit = shared_->limits.hang_limit;
    std::unique_lock lock(shared_->mutex);
    shared_->over = true;
    shared_->changed.notify_all();
    if (!shared_->moves(lock, hang_limit / 10))
        shared_->calls.say("the manager's end waits: " + shared_->what_waits());
    while (!shared_->jobs.empty() && shared_->moves(lock, hang_limit)) continue;
    if (shared_->jobs.empty()) {
        lock.unlock();
        return thread_.join();
    }
    const std::string line = shared_->what_waits() + ", which has not responded for " +
                             format_duration(hang_limit) +
                             ": they are lost unless it responds before this program ends";
    lock.unlock();
    thread_.detach();
    const std::lock_guard outside(shared_->outside);
    shared_->left_alone = true;
    shared_->calls.say(line);
}

namespace {

// Converts `[800, "MB"]` to this many parts of its unit.
std::int64_t amount_of(const Json& summary, const char* name, double parts) {
    const Json* const found = summary.find(name);
    if (found == nullptr || found->parts().empty() || !found->parts().front().is_number())
        return engine::model::unsaid;
    const double amount = found->parts().front().number() * parts;
    constexpr double most = 1e15;
    return amount >= 0 ? std::llround(std::min(amount, most)) : engine::model::unsaid;
}

bool succeeded(const Json& summary) {
    const Json* const type = summary.find("exit_type");
    const Json* const status = summary.find("exit_status");
    return (type == nullptr || *type == "normal") && (status == nullptr || *status == 0);
}

void add(const Json& summary, EarlierSummaries& all) {
    const Json* const category = summary.find("category");
    if (category == nullptr || !category->is_string() || !succeeded(summary)) return;
    engine::model::CategorySample sample;
    sample.peaks = {amount_of(summary, "cores", 1000), amount_of(summary, "memory", 1),
                    amount_of(summary, "disk", 1), amount_of(summary, "gpus", 1000)};
    sample.wall = std::chrono::microseconds(
        std::clamp<std::int64_t>(amount_of(summary, "wall_time", 1e6), 0, 1'000'000'000'000'000));
    all.samples[category->text()].push_back(sample);
}

// False: part of it is not a summary.
bool read_piece(const std::string& text, EarlierSummaries& all, std::uint64_t& count) {
    std::istringstream from(text);
    while (!(from >> std::ws).eof()) {
        const Json summary = Json::read_from(from);
        if (!summary.is_object()) return false;
        ++count;
        add(summary, all);
    }
    return true;
}

}  // namespace

Result<EarlierSummaries> read_summaries(const std::string& path) {
    const auto wrong = [&](const std::string& why) { return Error{ExitCode::bad_input, path + ": " + why}; };
    std::ifstream file(path);
    if (!file) return wrong(std::system_category().message(errno));
    EarlierSummaries all;
    std::uint64_t count = 0;
    std::uint64_t bad = 0;
    std::uint64_t first_bad = 0;
    // A piece reaches from one line that can begin a summary to the next; lines within a summary are
    // indented.
    std::string piece;
    std::uint64_t begin = 1;
    const auto end_piece = [&](std::uint64_t next) {
        if (!read_piece(piece, all, count) && bad++ == 0) first_bad = begin;
        piece.clear();
        begin = next;
    };
    std::uint64_t number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.starts_with('{')) end_piece(number);
        piece += line + '\n';
    }
    end_piece(number);
    if (bad == 0) return all;
    if (count == 0) return wrong("line " + std::to_string(first_bad) + " is not a summary, nor is any other");
    all.warning = path + ": line " + std::to_string(first_bad) + " is not a summary" +
                  (bad == 1 ? "" : ", like " + std::to_string(bad - 1) + " others") + ": skipped";
    return all;
}

}  // namespace wq::records::logs
