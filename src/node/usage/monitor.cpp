#include "node/usage/monitor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/units.h"
#include "node/process/functions.h"

namespace wq::node::usage {

namespace {

constexpr Duration window = std::chrono::seconds(1);
constexpr Duration long_window = std::chrono::seconds(5);  // for comparison with a limit on cores
constexpr std::int64_t thousandths_of_core = 1000;         // scales: per microsecond
constexpr std::int64_t by_the_second = 1000000;
constexpr std::int64_t tick_us = 20000;  // rounding may make two readings differ by this

std::int64_t up(std::int64_t amount, std::int64_t unit) {
    return (amount + unit - 1) / unit;
}

std::int64_t cpu_of(const rusage& usage) {
    return process::micros_of(usage.ru_utime) + process::micros_of(usage.ru_stime);
}

void raise(std::int64_t& peak, std::int64_t amount) {
    peak = std::max(peak, amount);
}

// The reported peak of a process that just executed its file may be its parent's, which is ours.
bool is_its_own(std::int64_t resident_kb) {
    rusage ours{};
    getrusage(RUSAGE_SELF, &ours);
    return resident_kb > ours.ru_maxrss;
}

}  // namespace

std::optional<std::int64_t> RateWindow::take(std::int64_t sum, std::int64_t scale, Instant now) {
    if (now - begin_ < length_) return std::nullopt;
    const std::int64_t wall_us = std::chrono::duration_cast<std::chrono::microseconds>(now - begin_).count();
    const std::int64_t rate = (sum - sum_) * scale / wall_us;
    begin_ = now;
    sum_ = sum;
    return rate;
}

Monitor::Monitor(const engine::model::Watch& watch, Instant started)
    : watch_(watch),
      started_(started),
      series_every_(window),
      next_of_series_(started),
      traffic_window_(window, started),
      window_(window, started),
      long_window_(long_window, started) {}

bool Monitor::holds(pid_t pid, std::optional<std::uint64_t> began) const {
    const auto is_it = [&](const ProcessSample& process) {
        return process.pid == pid && process.began == began.value_or(process.began);
    };
    return std::any_of(processes_.begin(), processes_.end(), is_it) ||
           std::any_of(missing_.begin(), missing_.end(), is_it);
}

bool Monitor::wants_proportional(const std::vector<ProcessSample>& processes, std::int64_t resident_kb) {
    const std::int64_t limit_mb = watch_.limits.memory_mb;
    bool wants = limit_mb > 0 && resident_kb > limit_mb * kb_per_mb;
    if (!wants && processes.size() > 1 && resident_kb > memory_kb_) {
        // No other figure shows that pages are no longer shared, so ask again after a while.
        constexpr int at_least_every = 10;
        wants = resident_kb > asked_at_kb_ + std::max(kb_per_mb, asked_at_kb_ / 32) ||
                ++since_asked_ >= at_least_every;
    }
    if (wants) {
        asked_at_kb_ = resident_kb;
        since_asked_ = 0;
    }
    return wants;
}

void Monitor::count(std::int64_t cpu_us, std::int64_t bytes_read, std::int64_t bytes_written) {
    // If a process could not enter its group, the kernel has not counted all CPU time.
    const std::int64_t seen_us = cpu_us + gone_.cpu_us;
    raise(peak_.cpu_time, kernels_cpu_us_ ? std::max(seen_us, *kernels_cpu_us_) : seen_us + lost_us_);
    if (bytes_read >= 0) raise(peak_.bytes_read, bytes_read + gone_.bytes_read);
    if (bytes_written >= 0) raise(peak_.bytes_written, bytes_written + gone_.bytes_written);
}

void Monitor::take(std::vector<ProcessSample> processes, const Memory& memory, Instant now) {
    ProcessSample sum;
    std::int64_t living = 0;
    std::int64_t fresh = 0;
    const SamplesByPid before(processes_);
    const SamplesByPid missing(missing_);
    for (const ProcessSample& process : processes) {
        sum.cpu_us += process.cpu_us;
        sum.virtual_kb += process.virtual_kb;
        sum.bytes_read += process.bytes_read;
        sum.bytes_written += process.bytes_written;
        raise(resident_kb_, process.resident_kb);
        if (!process.ended) ++living;
        if (before.find(process) == nullptr && missing.find(process) == nullptr) ++fresh;
    }
    settle_missing(processes, before, missing);
    count_sample(processes);
    processes_ = std::move(processes);
    const bool counted = kernels_cpu_us_ || sum.cpu_us + gone_.cpu_us + lost_us_ >= peak_.cpu_time;
    count(sum.cpu_us, sum.bytes_read, sum.bytes_written);
    // Otherwise a child has just ended, and its parent was read before it had reaped the child.
    if (counted) take_windows(now);
    peak_.processes = std::max<std::int64_t>(peak_.processes, 0) + fresh;
    raise(peak_.processes_at_once, living);
    raise(peak_.virtual_memory, up(sum.virtual_kb, kb_per_mb));
    raise(peak_.swap_memory, up(memory.swapped_kb, kb_per_mb));
    memory_now_kb_ = memory.kb;
    raise(memory_kb_, memory.kb);
    shared_out_ = shared_out_ || memory.shared_out;
}

void Monitor::count_sample(const std::vector<ProcessSample>& processes) {
    if (processes.empty()) return;  // it has just ended
    ++samples_.all;
    if (std::ranges::any_of(processes, &ProcessSample::waits_for_disk)) ++samples_.waiting_for_disk;
}

std::int64_t Monitor::disk_wait() const {
    return samples_.all == 0 ? engine::model::unsaid : samples_.waiting_for_disk * 1000 / samples_.all;
}

// Called before `processes` replace the last sample.
void Monitor::settle_missing(const std::vector<ProcessSample>& processes, const SamplesByPid& before,
                             const SamplesByPid& missing) {
    std::int64_t waited_us = 0;
    for (const ProcessSample& process : processes) {
        if (const ProcessSample* const last = before.find(process))
            waited_us += process.waited_cpu_us - last->waited_cpu_us;
        if (const ProcessSample* const back = missing.find(process)) missing_us_ -= back->cpu_us;
    }
    const std::int64_t rounded_us = tick_us * static_cast<std::int64_t>(missing_.size());
    lost_us_ += std::max<std::int64_t>(0, missing_us_ - waited_us - rounded_us);
    missing_.clear();
    missing_us_ = -waited_us;
    const SamplesByPid there(processes);
    for (const ProcessSample& process : processes_) {
        if (there.find(process) != nullptr) continue;
        missing_us_ += process.cpu_us;
        missing_.push_back(process);
    }
    missing_us_ = std::max<std::int64_t>(0, missing_us_);
}

void Monitor::take_windows(Instant now) {
    if (const auto busy = window_.take(peak_.cpu_time, thousandths_of_core, now)) raise(peak_.cores, *busy);
    if (const auto busy = long_window_.take(peak_.cpu_time, thousandths_of_core, now))
        cores_for_long_ = *busy;
}

void Monitor::take(const DiskUse& use) {
    disk_now_bytes_ = use.bytes;
    raise(peak_.disk, up(use.bytes, bytes_per_mb));
    raise(peak_.files, use.files);
}

void Monitor::take(const TrafficOf& all, Instant now) {
    TrafficOf connections;
    for (const ProcessSample& process : processes_)
        for (const std::uint64_t socket : process.sockets)
            if (const auto found = all.find(socket); found != all.end()) connections.insert(*found);
    for (const auto& [socket, last] : connections_) {
        const auto found = all.find(socket);
        if (found != all.end() && found->second.received >= last.received &&
            found->second.sent >= last.sent) {
            // This sample may have missed its process.
            connections.emplace(socket, last);
            continue;
        }
        closed_.received += last.received;
        closed_.sent += last.sent;
    }
    Traffic sum = closed_;
    for (const auto& [socket, traffic] : connections) {
        sum.received += traffic.received;
        sum.sent += traffic.sent;
    }
    connections_ = std::move(connections);
    raise(peak_.bytes_received, sum.received);
    raise(peak_.bytes_sent, sum.sent);
    const auto rate = traffic_window_.take(sum.received + sum.sent, by_the_second, now);
    raise(peak_.bandwidth, rate.value_or(0));
}

void Monitor::waited_for(pid_t pid, const rusage& usage, const std::optional<ProcessSample>& seen) {
    const auto is_it = [&](const ProcessSample& process) {
        return process.pid == pid && (!seen || process.began == seen->began);
    };
    const bool is_missing = std::any_of(missing_.begin(), missing_.end(), is_it);
    std::vector<ProcessSample>& among = is_missing ? missing_ : processes_;
    const auto found = std::find_if(among.begin(), among.end(), is_it);
    if (found == among.end()) return;
    if (is_missing) missing_us_ = std::max<std::int64_t>(0, missing_us_ - found->cpu_us);
    const ProcessSample& last = seen && seen->bytes_told ? *seen : *found;
    gone_.cpu_us += std::max(found->cpu_us, cpu_of(usage));
    gone_.bytes_read += last.bytes_read;
    gone_.bytes_written += last.bytes_written;
    switches_ += usage.ru_nvcsw + usage.ru_nivcsw;
    among.erase(found);
}

void Monitor::ended(const rusage& usage, const std::optional<ProcessSample>& bytes,
                    const std::vector<ProcessSample>& left, Instant now) {
    ProcessSample sum = bytes.value_or(ProcessSample{});
    sum.cpu_us = cpu_of(usage);
    for (const ProcessSample& process : left) {
        sum.cpu_us += process.cpu_us;
        sum.bytes_read += process.bytes_read;
        sum.bytes_written += process.bytes_written;
    }
    const bool told = bytes && bytes->bytes_told;
    count(sum.cpu_us, told ? sum.bytes_read : engine::model::unsaid,
          told ? sum.bytes_written : engine::model::unsaid);
    take_windows(now);
    switches_ += usage.ru_nvcsw + usage.ru_nivcsw;
    peak_.context_switches = switches_;
    raise(peak_.processes_at_once, 1);
    raise(peak_.processes, 1);
    if (memory_kb_ != 0 && (shared_out_ || !is_its_own(usage.ru_maxrss))) return;
    // Accounts for a peak between two samples. The samples already include the resident memory that they saw,
    // as far as it counts: mapped file pages do not count in a group.
    const std::int64_t seen_kb = memory_kb_ == 0 ? 0 : resident_kb_;
    const std::int64_t unseen_kb = std::max<std::int64_t>(0, usage.ru_maxrss - seen_kb);
    const std::int64_t peak_kb = std::min<std::int64_t>(usage.ru_maxrss, memory_kb_ + unseen_kb);
    const std::int64_t limit_kb = watch_.limits.memory_mb * kb_per_mb;
    raise(memory_kb_, memory_is_held ? std::min(peak_kb, limit_kb) : peak_kb);
}

void Monitor::reached_memory_limit() {
    exceeded.memory_mb = watch_.limits.memory_mb;
    raise(memory_kb_, watch_.limits.memory_mb * kb_per_mb + 1);  // it needed at least one more page
}

engine::model::Sizes Monitor::excess() const {
    const engine::model::Sizes& limits = watch_.limits;
    engine::model::Sizes over;
    if (limits.memory_mb > 0 && memory_now_kb_ > limits.memory_mb * kb_per_mb)
        over.memory_mb = limits.memory_mb;
    if (limits.disk_mb > 0 && disk_now_bytes_ > limits.disk_mb * bytes_per_mb) over.disk_mb = limits.disk_mb;
    if (limits.cores > 0 && cores_for_long_ > limits.cores + limits.cores / 10) over.cores = limits.cores;
    return over;
}

engine::model::Usage Monitor::usage() const {
    engine::model::Usage usage = peak_;
    usage.memory = up(memory_kb_, kb_per_mb);
    return usage;
}

engine::model::Usage Monitor::now() const {
    engine::model::Usage usage = this->usage();
    if (memory_now_kb_ > 0) usage.memory = up(memory_now_kb_, kb_per_mb);
    if (usage.disk >= 0) usage.disk = up(disk_now_bytes_, bytes_per_mb);
    return usage;
}

void Monitor::note_peaks(std::int64_t at_us) {
    const engine::model::Usage peaks = usage();
#define WQ_NOTE(name, unit, meaning) \
    if (peaks.name > noted_.name) report_.peak_us.name = at_us;
    WQ_USAGE(WQ_NOTE)
#undef WQ_NOTE
    noted_ = peaks;
}

void Monitor::record_point(const std::vector<std::string>& labels, Instant now) {
    const std::int64_t at_us = std::chrono::duration_cast<std::chrono::microseconds>(now - started_).count();
    note_peaks(at_us);
    for (const std::string& label : labels)
        if (snapshots_++ < most_snapshots) report_.points.push_back({at_us, label, this->now()});
    if (!watch_.series || now < next_of_series_) return;
    next_of_series_ = now + series_every_;
    report_.points.push_back({at_us, {}, this->now()});
    if (report_.points.size() < most_snapshots + most_of_series) return;
    // Every other one is enough for a task that takes so long.
    series_every_ *= 2;
    std::size_t number = 0;
    std::erase_if(report_.points, [&](const engine::model::UsagePoint& point) {
        return point.label.empty() && ++number % 2 == 0;
    });
}

namespace {

constexpr std::size_t longest_line = 64u << 10;
constexpr off_t most_read = 1 << 20;  // at one look, because other tasks wait

bool flag(const Json& object, const char* name, bool otherwise = false) {
    const Json* const found = object.find(name);
    return found != nullptr && found->is_boolean() ? found->boolean() : otherwise;
}

std::string text(const Json& object, const char* name) {
    const Json* const found = object.find(name);
    return found != nullptr && found->is_string() ? found->text() : "";
}

// Its size, if it was there when the task began; the kernel's times are up to a tick of 10 ms old.
std::optional<off_t> size_before(const std::string& path, WallMicros began) {
    constexpr WallMicros tick = 10'000;
    struct statx is {};
    if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS | STATX_BTIME, &is) != 0) return std::nullopt;
    const struct statx_timestamp& made = (is.stx_mask & STATX_BTIME) != 0 ? is.stx_btime : is.stx_ctime;
    if (made.tv_sec * 1'000'000 + made.tv_nsec / 1000 + tick >= began) return std::nullopt;
    return static_cast<off_t>(is.stx_size);
}

}  // namespace

void SnapshotEvents::FreePattern::operator()(regex_t* pattern) const {
    ::regfree(pattern);
    delete pattern;
}

std::unique_ptr<SnapshotEvents> SnapshotEvents::in(const std::string& folder, WallMicros began) {
    const std::string path = folder + "/" + engine::model::snapshots_file;
    struct stat is {};
    // Other tasks wait meanwhile: a pipe would be waited for, and a device has no end.
    if (::stat(path.c_str(), &is) != 0 || !S_ISREG(is.st_mode) || is.st_size > most_read) return nullptr;
    std::ifstream in(path);
    Json all = Json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!all.is_object()) return nullptr;
    std::ranges::sort(all.members(), {}, &Json::Member::key);
    auto made = std::make_unique<SnapshotEvents>();
    for (const auto& [name, said] : all.members()) {
        if (!said.is_object()) continue;
        File& file = made->files_.emplace_back();
        file.path = folder + "/" + name;
        file.from_start_if_truncated = flag(said, "from-start-if-truncated", true);
        file.delete_if_found = flag(said, "delete-if-found");
        const std::optional<off_t> size = size_before(file.path, began);
        file.is_there = size.has_value();
        if (size && !flag(said, "from-start")) file.read = *size;
        const Json* const events = said.find("events");
        for (const Json& one : events == nullptr ? Json::Parts() : events->parts()) {
            if (!one.is_object()) continue;
            Event& event = file.events.emplace_back();
            event.label = text(one, "label");
            event.on_create = flag(one, "on-create");
            event.on_truncate = flag(one, "on-truncate");
            const Json* const count = one.find("count");
            event.count = count != nullptr && count->is_number() ? count->integer() : -1;
            const std::string pattern = text(one, "pattern");
            auto compiled = std::make_unique<regex_t>();
            if (!pattern.empty() && ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0)
                event.pattern.reset(compiled.release());
        }
    }
    return made;
}

std::vector<std::string> SnapshotEvents::new_labels() {
    std::vector<std::string> labels;
    for (File& file : files_) read_file(file, labels);
    return labels;
}

template <class Happened>
void SnapshotEvents::take(File& file, std::vector<std::string>& labels, const Happened& happened) {
    for (Event& event : file.events) {
        if (event.count == 0 || !happened(event)) continue;
        if (std::find(labels.begin(), labels.end(), event.label) != labels.end()) continue;
        labels.push_back(event.label);
        if (event.count > 0) --event.count;
    }
}

void SnapshotEvents::read_file(File& file, std::vector<std::string>& labels) {
    const Descriptor open(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    const bool is_there = open.valid() && ::fstat(open.get(), &status) == 0 && S_ISREG(status.st_mode);
    const bool is_new = is_there && !std::exchange(file.is_there, is_there);
    if (!is_there || is_new) file.read = 0, file.line.clear();
    if (!is_there) return;
    if (is_new) take(file, labels, [](const Event& event) { return event.on_create; });
    if (status.st_size < file.read) {
        take(file, labels, [](const Event& event) { return event.on_truncate; });
        file.read = file.from_start_if_truncated ? 0 : status.st_size;
        file.line.clear();
    }
    read_lines(file, open.get(), labels);
    if (file.delete_if_found && ::unlink(file.path.c_str()) == 0) file.is_there = false;
}

void SnapshotEvents::read_lines(File& file, int descriptor, std::vector<std::string>& labels) {
    std::array<char, 16384> part{};
    for (off_t left = most_read; left > 0;) {
        const ssize_t got = ::pread(descriptor, part.data(), part.size(), file.read);
        if (got <= 0) return;
        file.read += got;
        left -= got;
        for (const char c : std::string_view(part.data(), static_cast<std::size_t>(got))) {
            if (c != '\n') {
                if (file.line.size() < longest_line) file.line += c;
                continue;
            }
            take(file, labels, [&](const Event& event) {
                return event.pattern && ::regexec(event.pattern.get(), file.line.c_str(), 0, nullptr, 0) == 0;
            });
            file.line.clear();
        }
    }
}

}  // namespace wq::node::usage
