#include "api/summary_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "api/quiet_thread.h"
#include "base/descriptor.h"
#include "stats/resource_summary.h"
#include "stats/task_number.h"

namespace wq::api {

namespace {

// Line ends within a text of JSON are its layout: strings have none.
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

// In one piece, so that managers may share it. 0, or why not: an errno.
int append(const std::string& path, const std::string& text) {
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
    if (!file.valid()) return errno;
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0) return errno;
    return static_cast<std::size_t>(written) == text.size() ? 0 : ENOSPC;
}

}  // namespace

void SummaryWriter::finish() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

std::shared_future<void> SummaryWriter::put(Summary summary) {
    Job job{std::move(summary), {}};
    std::shared_future<void> written = job.written.get_future().share();
    if (!thread_.joinable()) try {
            thread_ = quiet_thread([this] { run(); });
        } catch (const std::system_error&) {
            return write(job), written;
        }
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
    return written;
}

void SummaryWriter::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        write(job);
        lock.lock();
    }
}

void SummaryWriter::write(Job& job) {
    const Summary& summary = job.summary;
    const std::string json =
        stats::resource_summary(summary.record, {summary.category, summary.command, summary.host});
    const std::int64_t pid = ::getpid();
    const std::uint64_t number = stats::task_number(summary.record.task);
    const std::set<std::string> folders{summary.of_task, summary.of_all};
    for (const std::string& folder : folders) {
        if (folder.empty()) continue;
        if (const Status done = stats::write_resource_summary(folder, pid, number, json); !done)
            tell(folder, done.error().message);
    }
    if (!summary.of_all.empty()) {
        const std::string path = summary.of_all + "/wq-" + std::to_string(pid) + ".summaries";
        if (const int error = append(path, in_one_line(json)); error != 0)
            tell(summary.of_all, path + ": " + std::system_category().message(error));
    }
    job.written.set_value();
}

void SummaryWriter::tell(const std::string& folder, const std::string& trouble) {
    if (told_.insert(folder).second) say_("a summary cannot be written: " + trouble);
}

}  // namespace wq::api
