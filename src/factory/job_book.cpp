#include "factory/job_book.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <sstream>

#include "base/units.h"

namespace wq::factory {

Result<JobBook> JobBook::open(const std::string& path, Duration longest_call, Instant now) {
    JobBook book;
    book.longest_call_ = longest_call;
    if (::access(path.c_str(), F_OK) == 0) {
        const auto text = records::journal::read_whole(path);
        if (!text) return text.error();
        std::istringstream lines(text->substr(0, text->rfind('\n') + 1));
        for (std::string line; std::getline(lines, line);) book.replay(line, now);
    }
    if (const Status status = book.rewrite(path); !status) return status.error();
    auto file = records::journal::AppendFile::open(path);
    if (!file) return file.error();
    book.file_ = std::move(*file);
    return book;
}

void JobBook::replay(const std::string& line, Instant now) {
    std::istringstream words(line);
    std::string event;
    std::string name;
    words >> event >> name;
    if (event == "intend") {
        std::int64_t count = 0;
        if (words >> count && count > 0) doubtful_[name] = {count, now + longest_call_};
    } else if (event == "made") {
        doubtful_.erase(name);
        for (std::string id; words >> id;) {
            if (!jobs_.contains(id)) order_.push_back(id);
            jobs_[id] = {name, now, JobState::pending, "", false, false, true};
        }
    } else if (event == "gone") {
        doubtful_.erase(name);
    } else if (event == "ended") {
        std::vector<std::string> ids{name};
        for (std::string id; words >> id;) ids.push_back(id);
        forget(ids);
    }
}

// Only what matters still, so that the file does not grow over the months.
Status JobBook::rewrite(const std::string& path) {
    std::string text;
    for (const auto& [name, doubt] : doubtful_)
        text += "intend " + name + " " + std::to_string(doubt.count) + "\n";
    for (const std::string& id : order_) text += "made " + jobs_[id].submission + " " + id + "\n";
    return records::journal::write_atomically(path, text);
}

Status JobBook::write(const std::string& line) {
    const Status written = file_.append(line + "\n");
    return written ? file_.sync() : written;
}

Status JobBook::intend(const std::string& name, std::int64_t count, Instant now) {
    const Status written = write("intend " + name + " " + std::to_string(count));
    if (written) doubtful_[name] = {count, now + longest_call_};
    return written;
}

Status JobBook::made(const std::string& name, const std::vector<std::string>& ids, Instant now) {
    doubtful_.erase(name);
    std::string line = "made " + name;
    for (const std::string& id : ids) {
        line += " " + id;
        if (!jobs_.contains(id)) order_.push_back(id);
        jobs_[id] = {name, now, JobState::pending, "", false, false, false};
    }
    return write(line);
}

Status JobBook::gone(const std::string& name) {
    doubtful_.erase(name);
    return write("gone " + name);
}

void JobBook::set_state(const std::string& id, JobState state, const std::string& detail) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    found->second.state = state;
    found->second.why = state == JobState::pending ? detail : "";
    if (state == JobState::pending) found->second.joined = false;  // requeued: its next worker is to join
}

std::string JobBook::why_pending() const {
    std::map<std::string, int> reasons;
    for (const auto& [id, job] : jobs_)
        if (job.state == JobState::pending && !job.why.empty()) ++reasons[job.why];
    const auto most = std::max_element(reasons.begin(), reasons.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == reasons.end() ? "" : most->first;
}

std::int64_t JobBook::set_present(const std::set<std::string>& ids) {
    std::int64_t fresh = 0;
    for (auto& [id, job] : jobs_) {
        job.present = ids.contains(id);
        if (!job.present) continue;
        fresh += job.joined ? 0 : 1;
        job.joined = true;
        job.state = JobState::running;
    }
    return fresh;
}

void JobBook::forget(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) jobs_.erase(id);
    std::erase_if(order_, [&](const std::string& id) { return !jobs_.contains(id); });
}

Status JobBook::ended(const std::vector<std::string>& ids) {
    if (ids.empty()) return success();
    forget(ids);
    std::string line = "ended";
    for (const std::string& id : ids) line += " " + id;
    return write(line);
}

std::vector<std::string> JobBook::ids() const {
    return order_;
}

std::vector<std::string> JobBook::newest_pending(std::int64_t most) const {
    std::vector<std::string> found;
    for (auto id = order_.rbegin(); id != order_.rend() && std::ssize(found) < most; ++id)
        if (jobs_.at(*id).state == JobState::pending) found.push_back(*id);
    return found;
}

JobCounts JobBook::counts() const {
    JobCounts counts;
    for (const auto& [name, doubt] : doubtful_) counts.pending += doubt.count;
    for (const auto& [id, job] : jobs_) {
        counts.pending += job.state == JobState::pending ? 1 : 0;
        counts.running += job.state == JobState::running ? 1 : 0;
        counts.starting += job.state == JobState::running && !job.present ? 1 : 0;
    }
    return counts;
}

std::string log_of(const std::string& script, const std::string& id) {
    const std::string whole = script + "." + id + ".log";
    const std::string brief = script + "." + id.substr(0, id.find('.')) + ".log";
    return ::access(whole.c_str(), F_OK) != 0 && ::access(brief.c_str(), F_OK) == 0 ? brief : whole;
}

bool joined_by_its_log(const std::string& path) {
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);)
        if (line.find("work_queue_worker: connected to manager ") != std::string::npos) return true;
    return false;
}

std::vector<std::string> tail_of(const std::string& path, std::size_t most) {
    std::deque<std::string> last;
    std::ifstream log(path);
    for (std::string line; std::getline(log, line);) {
        if (line.empty()) continue;
        last.push_back(line_for_message(line));
        if (last.size() > most) last.pop_front();
    }
    return {last.begin(), last.end()};
}

}  // namespace wq::factory
