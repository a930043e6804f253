#include "node/usage/tree_sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>
#include <tuple>

namespace wq::node::usage {

namespace {

// Numbers of /proc/PID/stat, counted from 0 after the state.
enum Field : std::size_t {
    minor_faults = 6,
    major_faults = 8,
    user_time = 10,
    system_time = 11,
    waited_user_time = 12,
    waited_system_time = 13,
    threads = 16,
    start_time = 18,
    virtual_size = 19,
    resident_pages = 20,
    field_count
};

constexpr int oldest = 8;  // for how many samples bytes and sockets are reused

struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
};

bool is_before(const ProcessSample& a, const ProcessSample& b) {
    return std::tie(a.pid, a.began) < std::tie(b.pid, b.began);
}

// Whether the kernel's figures show that it has run.
bool has_run(const ProcessSample& before, const ProcessSample& now) {
    return now.cpu_us != before.cpu_us || now.faults != before.faults ||
           now.virtual_kb != before.virtual_kb || now.resident_kb != before.resident_kb;
}

void take_bytes_over(const ProcessSample& from, ProcessSample& to) {
    to.bytes_read = from.bytes_read;
    to.bytes_written = from.bytes_written;
    to.bytes_told = from.bytes_told;
}

std::int64_t number_after(std::string_view text, std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) return 0;
    std::size_t begin = at + name.size();
    while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
    std::int64_t value = 0;
    std::from_chars(text.data() + begin, text.data() + text.size(), value);
    return value;
}

}  // namespace

ProcessTreeReader::ProcessTreeReader(const char* proc)
    : proc_(open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      tick_us_(1000000 / sysconf(_SC_CLK_TCK)),
      page_kb_(sysconf(_SC_PAGESIZE) / 1024) {}

std::size_t ProcessTreeReader::slurp(pid_t pid, const char* what, char* buffer, std::size_t size) const {
    std::array<char, 32> path;
    std::snprintf(path.data(), path.size(), "%d/%s", pid, what);
    const Descriptor file(openat(proc_.get(), path.data(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return 0;
    const ssize_t got = read(file.get(), buffer, size);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
}

std::optional<ProcessSample> ProcessTreeReader::one(pid_t pid) const {
    auto sample = without_bytes(pid);
    if (sample) read_bytes(*sample);
    return sample;
}

std::optional<ProcessSample> ProcessTreeReader::without_bytes(pid_t pid) const {
    std::array<char, 1024> buffer;
    const std::string_view text(buffer.data(), slurp(pid, "stat", buffer.data(), buffer.size()));
    const std::size_t name_end = text.rfind(") ");  // the name before it may contain anything
    if (name_end == std::string_view::npos || name_end + 4 > text.size()) return std::nullopt;
    std::array<std::int64_t, field_count> fields{};
    const char* at = text.data() + name_end + 4;  // past the state, a letter
    for (std::int64_t& field : fields) at = std::from_chars(at, text.data() + text.size(), field).ptr + 1;
    const char state = text[name_end + 2];
    ProcessSample sample;
    sample.pid = pid;
    sample.began = static_cast<std::uint64_t>(fields[start_time]);
    sample.ended = state == 'Z' || state == 'X';
    sample.waits_for_disk = state == 'D';
    sample.cpu_us = tick_us_ * (fields[user_time] + fields[system_time] + fields[waited_user_time] +
                                fields[waited_system_time]);
    sample.waited_cpu_us = tick_us_ * (fields[waited_user_time] + fields[waited_system_time]);
    sample.resident_kb = page_kb_ * fields[resident_pages];
    sample.virtual_kb = fields[virtual_size] / 1024;
    if (fields[threads] > 1) sample.forkers = process::ChildLists::Forkers::any_thread;
    sample.faults = fields[minor_faults] + fields[major_faults];
    return sample;
}

void ProcessTreeReader::read_bytes(ProcessSample& sample) const {
    std::array<char, 512> buffer;
    const std::string_view text(buffer.data(), slurp(sample.pid, "io", buffer.data(), buffer.size()));
    sample.bytes_told = !text.empty();
    sample.bytes_read = number_after(text, "rchar:");
    sample.bytes_written = number_after(text, "wchar:");
}

void ProcessTreeReader::find_sockets(ProcessSample& sample) const {
    std::array<char, 32> path;
    std::snprintf(path.data(), path.size(), "%d/fd", sample.pid);
    const int fd = openat(proc_.get(), path.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseFolder> folder(fd < 0 ? nullptr : fdopendir(fd));
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        std::array<char, 64> target;
        const ssize_t length = readlinkat(fd, entry->d_name, target.data(), target.size());
        const std::string_view text(target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
        if (text.starts_with("socket:["))
            sample.sockets.push_back(static_cast<std::uint64_t>(number_after(text, "socket:[")));
    }
}

SamplesByPid::SamplesByPid(const std::vector<ProcessSample>& samples) {
    sorted_.reserve(samples.size());
    for (const ProcessSample& sample : samples) sorted_.push_back(&sample);
    std::sort(sorted_.begin(), sorted_.end(), [](const auto* a, const auto* b) { return is_before(*a, *b); });
}

const ProcessSample* SamplesByPid::find(const ProcessSample& which) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), which,
                                        [](const auto* a, const auto& b) { return is_before(*a, b); });
    return found == sorted_.end() || is_before(which, **found) ? nullptr : *found;
}

std::vector<ProcessSample> ProcessTreeReader::tree(const std::vector<pid_t>& roots,
                                                   const std::vector<ProcessSample>& before) {
    const SamplesByPid known(before);
    std::vector<ProcessSample> samples;
    std::vector<pid_t> pids = roots;
    for (std::size_t i = 0; i < pids.size(); ++i) {
        auto sample = without_bytes(pids[i]);
        if (!sample) continue;
        const ProcessSample* const last = known.find(*sample);
        if (last != nullptr && !has_run(*last, *sample) && last->old < oldest) {
            sample->old = last->old + 1;
            take_bytes_over(*last, *sample);
            sample->sockets = last->sockets;
        } else {
            read_bytes(*sample);
            if (last != nullptr && !sample->bytes_told) take_bytes_over(*last, *sample);
            find_sockets(*sample);
        }
        if (!sample->ended) children_.append(sample->pid, sample->forkers, pids);
        samples.push_back(std::move(*sample));
    }
    return samples;
}

std::int64_t ProcessTreeReader::anonymous_kb(pid_t pid) const {
    std::array<char, 128> buffer;
    const char* at = buffer.data();
    const char* const end = at + slurp(pid, "statm", buffer.data(), buffer.size());
    std::array<std::int64_t, 3> pages{};  // virtual, resident, and the shared part of resident
    for (std::int64_t& count : pages) at = std::min(std::from_chars(at, end, count).ptr + 1, end);
    return page_kb_ * (pages[1] - pages[2]);
}

std::int64_t ProcessTreeReader::swapped_kb(pid_t pid) const {
    std::array<char, 4096> buffer;
    return number_after({buffer.data(), slurp(pid, "status", buffer.data(), buffer.size())}, "VmSwap:");
}

}  // namespace wq::node::usage
