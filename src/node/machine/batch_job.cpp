#include "node/machine/batch_job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "base/read_write.h"
#include "base/text.h"
#include "node/machine/gpus.h"

namespace wq::node::machine {

namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
    return value;
}

// "0-2" -> {"0", "1", "2"}, as Slurm abbreviates its lists; other names unchanged.
std::vector<std::string> without_ranges(const std::vector<std::string>& names) {
    constexpr std::int64_t longest = 1024;
    std::vector<std::string> all;
    for (const std::string& name : names) {
        const std::size_t dash = name.find('-');
        const auto first = whole_number(std::string_view(name).substr(0, dash));
        const auto last =
            dash == std::string::npos ? first : whole_number(std::string_view(name).substr(dash + 1));
        if (!first || !last || *last < *first || *last - *first >= longest)
            all.push_back(name);
        else
            for (std::int64_t one = *first; one <= *last; ++one) all.push_back(std::to_string(one));
    }
    return all;
}

class Reader {
  public:
    explicit Reader(const BatchSources& sources) : sources_(sources) {}

    std::string text(const char* name) const {
        const char* value = sources_.variable(name);
        return value == nullptr ? "" : value;
    }
    std::optional<std::int64_t> count(const char* name) const { return whole_number(text(name)); }
    // The content of the file that the variable names.
    std::optional<std::string> file(const char* name) const {
        const std::string path = text(name);
        return path.empty() ? std::nullopt : sources_.file(path);
    }
    const std::string& host() const { return sources_.host; }

    // A missing value and 0 (for Slurm: everything) are no bound.
    void add(BoundKind kind, std::optional<std::int64_t> amount, const std::string& source, BoundOf of) {
        if (amount && *amount > 0) bounds.push_back({kind, *amount, source, of, false, {}});
    }

    Bounds bounds;

  private:
    const BatchSources& sources_;
};

// Converts CPUs to cores: if there are as many CPUs as usable cores, a CPU is a core, otherwise a thread.
std::optional<std::int64_t> cores_of(std::optional<std::int64_t> cpus, const CpuCount& usable) {
    const auto cores = static_cast<std::int64_t>(usable.cores);
    const auto threads = static_cast<std::int64_t>(usable.threads);
    if (!cpus || threads <= cores || *cpus == cores || *cpus > threads) return cpus;
    return (*cpus * cores + threads - 1) / threads;
}

void read_slurm(Reader& slurm, const CpuCount& usable) {
    const auto on_node = slurm.count("SLURM_CPUS_ON_NODE");
    const auto per_task = slurm.count("SLURM_CPUS_PER_TASK");
    const auto add_cores = [&](const std::optional<std::int64_t>& cpus, const std::string& name, BoundOf of) {
        const auto cores = cores_of(cpus, usable);
        const bool threads = cpus && *cores != *cpus;
        slurm.add(BoundKind::cores, cores, threads ? name + ", " + std::to_string(*cpus) + " threads" : name,
                  of);
    };
    add_cores(on_node, "SLURM_CPUS_ON_NODE", BoundOf::node);
    // The script of a job with several tasks is the only process of its node: the share per task is for those
    // that srun starts.
    const bool one_task = slurm.count("SLURM_NTASKS").value_or(1) <= 1;
    const bool of_task = one_task || !slurm.text("SLURM_STEP_ID").empty();
    if (of_task) add_cores(per_task, "SLURM_CPUS_PER_TASK", BoundOf::process);
    slurm.add(BoundKind::memory, slurm.count("SLURM_MEM_PER_NODE"), "SLURM_MEM_PER_NODE", BoundOf::node);
    const auto per_cpu = slurm.count("SLURM_MEM_PER_CPU");
    const auto add_memory = [&](const std::optional<std::int64_t>& cpus, const std::string& name,
                                BoundOf of) {
        constexpr std::int64_t most = std::int64_t{1} << 30;
        if (cpus && per_cpu && *cpus < most && *per_cpu < most)
            slurm.add(BoundKind::memory, *per_cpu * *cpus,
                      "SLURM_MEM_PER_CPU x " + std::to_string(*cpus) + " (" + name + ")", of);
    };
    add_memory(on_node, "SLURM_CPUS_ON_NODE", BoundOf::node);
    if (of_task) add_memory(per_task, "SLURM_CPUS_PER_TASK", BoundOf::process);
    for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS"}) {
        const std::string devices = slurm.text(name);
        if (devices.empty()) continue;
        std::vector<std::string> names = without_ranges(visible_devices(devices));
        const auto count = static_cast<std::int64_t>(names.size());
        slurm.bounds.push_back({BoundKind::gpus, count, name, BoundOf::node, false, std::move(names)});
        return;
    }
    slurm.add(BoundKind::gpus, slurm.count("SLURM_GPUS_ON_NODE"), "SLURM_GPUS_ON_NODE", BoundOf::node);
}

// The first words of a file's lines, such as the hosts of PBS_NODEFILE.
std::vector<std::string> first_words(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (std::istringstream line_words(line); line_words >> line) words.push_back(line);
    return words;
}

std::vector<std::string> pbs_hosts(const Reader& pbs) {
    return first_words(pbs.file("PBS_NODEFILE").value_or(""));
}

// NCPUS is the first chunk's ncpus, or its ompthreads: for the node, if the job has one process (mpiprocs).
// PBS_NUM_PPN (Torque) is for each node.
void read_pbs(Reader& pbs) {
    if (pbs.text("PBS_JOBID").empty()) return;
    const BoundOf of = pbs_hosts(pbs).size() == 1 ? BoundOf::node : BoundOf::process;
    pbs.add(BoundKind::cores, pbs.count("PBS_NCPUS"), "PBS_NCPUS", of);
    pbs.add(BoundKind::cores, pbs.count("NCPUS"), "NCPUS", of);
    pbs.add(BoundKind::cores, pbs.count("PBS_NUM_PPN"), "PBS_NUM_PPN", BoundOf::node);
}

std::string_view short_name(std::string_view host) {
    return host.substr(0, host.find('.'));
}

// A line is "HOST SLOTS QUEUE PROCESSORS"; a host has several if several queues gave slots.
std::optional<std::int64_t> slots_of(std::string_view host, const std::string& lines_of_hosts) {
    std::istringstream lines(lines_of_hosts);
    std::optional<std::int64_t> all;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        std::string slots;
        if (!(words >> name >> slots) || short_name(name) != short_name(host)) continue;
        if (const auto count = whole_number(slots))
            all = all.value_or(0) + std::min<std::int64_t>(*count, 1 << 30);
    }
    return all;
}

// NSLOTS counts the slots of all hosts. PE_HOSTFILE is on the host where the job's script runs.
void read_grid_engine(Reader& engine) {
    if (engine.count("NHOSTS").value_or(1) <= 1)
        engine.add(BoundKind::cores, engine.count("NSLOTS"), "NSLOTS", BoundOf::node);
    else
        engine.add(BoundKind::cores, slots_of(engine.host(), engine.file("PE_HOSTFILE").value_or("")),
                   "PE_HOSTFILE", BoundOf::node);
}

// "Cpus = 4", one per line; names are case-insensitive.
std::optional<std::int64_t> attribute(const std::string& advertisement, std::string name) {
    std::istringstream lines(advertisement);
    const auto lower = [](std::string text) {
        std::transform(text.begin(), text.end(), text.begin(),
                       [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        return text;
    };
    name = lower(std::move(name));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string found;
        std::string equals;
        std::string value;
        if (words >> found >> equals >> value && equals == "=" && lower(found) == name)
            return whole_number(value);
    }
    return std::nullopt;
}

// A job of the vanilla universe has one slot, so what the slot has is what the job has on its machine.
void read_condor(Reader& condor) {
    const auto slot = condor.file("_CONDOR_MACHINE_AD");
    if (!slot) return;
    condor.add(BoundKind::cores, attribute(*slot, "Cpus"), "_CONDOR_MACHINE_AD Cpus", BoundOf::node);
    condor.add(BoundKind::memory, attribute(*slot, "Memory"), "_CONDOR_MACHINE_AD Memory", BoundOf::node);
    if (const auto disk_kb = attribute(*slot, "Disk"))
        condor.add(BoundKind::disk, *disk_kb / 1024, "_CONDOR_MACHINE_AD Disk",
                   BoundOf::process);  // of its scratch folder
    // Here 0 is a value: the slot has none.
    if (const auto gpus = attribute(*slot, "GPUs"))
        condor.bounds.push_back(
            {BoundKind::gpus, *gpus, "_CONDOR_MACHINE_AD GPUs", BoundOf::node, false, {}});
}

}  // namespace

Bounds batch_bounds(const BatchSources& sources, const CpuCount& usable) {
    Reader reader(sources);
    read_slurm(reader, usable);
    read_pbs(reader);
    read_grid_engine(reader);
    read_condor(reader);
    return std::move(reader.bounds);
}

std::optional<std::int64_t> allocated_cores(const Bounds& batch) {
    std::optional<std::int64_t> fewest;
    for (const Bound& bound : batch)
        if (bound.kind == BoundKind::cores && bound.of == BoundOf::node)
            fewest = std::min(fewest.value_or(bound.amount), bound.amount);
    return fewest;
}

std::optional<std::int64_t> batch_nodes(const BatchSources& sources) {
    const Reader job(sources);
    const bool step = !job.text("SLURM_STEP_ID").empty();
    if (const auto slurm = job.count(step ? "SLURM_STEP_NUM_NODES" : "SLURM_JOB_NUM_NODES")) return slurm;
    if (!job.text("PBS_JOBID").empty()) {
        const std::vector<std::string> hosts = pbs_hosts(job);
        if (hosts.empty()) return std::nullopt;
        return static_cast<std::int64_t>(std::set<std::string>(hosts.begin(), hosts.end()).size());
    }
    return job.text("PE_HOSTFILE").empty() ? std::nullopt : job.count("NHOSTS");
}

bool in_job_script(const BatchSources& sources) {
    const Reader job(sources);
    return job.text("ENVIRONMENT") == "BATCH" || job.text("PBS_ENVIRONMENT") == "PBS_BATCH";
}

std::string batch_job(const BatchSources& sources) {
    const Reader job(sources);
    if (const std::string given = job.text("WORK_QUEUE_JOB"); !given.empty()) return given;
    if (const std::string array = job.text("SLURM_ARRAY_JOB_ID"); !array.empty())
        return array + "_" + job.text("SLURM_ARRAY_TASK_ID");
    if (const std::string slurm = job.text("SLURM_JOB_ID"); !slurm.empty()) return slurm;
    if (const std::string pbs = job.text("PBS_JOBID"); !pbs.empty()) return pbs;
    if (const std::string lsf = job.text("LSB_JOBID"); !lsf.empty()) {
        const auto index = job.count("LSB_JOBINDEX").value_or(0);  // 0 of a job that is no array
        return lsf + (index > 0 ? "[" + std::to_string(index) + "]" : "");
    }
    if (const auto engine = job.count("JOB_ID"); engine && !job.text("SGE_TASK_ID").empty()) {
        const auto task = job.count("SGE_TASK_ID");  // "undefined" of a job that is no array
        return std::to_string(*engine) + (task ? "." + std::to_string(*task) : "");
    }
    if (const auto ad = job.file("_CONDOR_JOB_AD")) {
        if (const auto cluster = attribute(*ad, "ClusterId"))
            return std::to_string(*cluster) + "." + std::to_string(attribute(*ad, "ProcId").value_or(0));
    }
    return {};
}

BatchSources batch_environment() {
    BatchSources sources;
    sources.variable = [](const char* name) -> const char* { return std::getenv(name); };
    sources.file = [](const std::string& path) -> std::optional<std::string> {
        std::ifstream in(path);
        if (!in) return std::nullopt;
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    };
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) sources.host = host.data();
    return sources;
}

namespace {

// Latest end, in 2169: no job lasts that long, and in nanoseconds from now it is still a valid time.
constexpr WallMicros latest = std::int64_t{200} * 365 * 24 * 3600 * micros_per_second;

std::string file_text(const char* path) {
    return path == nullptr ? "" : text_of_file(path);
}

bool given(const char* value) {
    return value != nullptr && *value != '\0';
}

}  // namespace

// PBS, Grid Engine and LSF tell it by commands only.
std::optional<WallMicros> batch_start(const BatchSources& sources) {
    const Reader job(sources);
    auto seconds = job.count("SLURM_JOB_START_TIME");
    if (const auto ad = seconds ? std::nullopt : job.file("_CONDOR_JOB_AD"))
        seconds = attribute(*ad, "JobCurrentStartDate");
    if (!seconds || *seconds == 0 || *seconds >= latest / micros_per_second) return std::nullopt;
    return *seconds * micros_per_second;
}

BatchEnd BatchEnd::ask(const Variable& variable, WallMicros now) {
    BatchEnd asked;
    if (const char* end = variable("SLURM_JOB_END_TIME"); given(end)) {
        const long long seconds = std::strtoll(end, nullptr, 10);
        if (seconds > 0 && seconds < latest / micros_per_second) asked.known_ = seconds * micros_per_second;
    } else if (const char* job = variable("SLURM_JOB_ID"); given(job)) {
        asked.read_ = [](std::string_view text) { return end_in_scontrol(text); };
        asked.command_ = AskedCommand({"scontrol", "show", "job", job});
    } else if (const char* id = variable("PBS_JOBID"); given(id)) {
        if (const char* time = variable("PBS_WALLTIME"); given(time))
            if (const auto seconds = pbs_seconds(time)) asked.otherwise_ = now + *seconds * micros_per_second;
        asked.read_ = [now](std::string_view text) { return end_in_qstat(text, now); };
        asked.command_ = AskedCommand({"qstat", "-f", id});
    } else if (given(variable("_CONDOR_JOB_AD")) || given(variable("_CONDOR_MACHINE_AD"))) {
        asked.known_ = end_in_condor_ads(file_text(variable("_CONDOR_JOB_AD")),
                                         file_text(variable("_CONDOR_MACHINE_AD")), now);
    }
    return asked;
}

std::optional<WallMicros> BatchEnd::wait(Duration limit) {
    const auto end = answer(limit);
    return end && *end > 0 && *end < latest ? end : std::nullopt;
}

std::optional<WallMicros> BatchEnd::answer(Duration limit) {
    if (known_ || !read_) return known_ ? known_ : otherwise_;
    if (const auto text = command_.answer(limit)) known_ = read_(*text);
    read_ = nullptr;
    return known_ ? known_ : otherwise_;
}

// Parsers for the output of batch systems.

namespace {

constexpr std::int64_t longest_s = std::int64_t{100} * 365 * 24 * 3600;

std::optional<std::int64_t> signed_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

// The value of the line `NAME = VALUE`; names are case-insensitive, as in HTCondor.
std::optional<std::string_view> value_of(std::string_view text, std::string_view name) {
    const auto same = [](char a, char b) {
        const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
        return lower(a) == lower(b);
    };
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view found = trimmed(line.substr(0, equals));
        if (std::equal(found.begin(), found.end(), name.begin(), name.end(), same))
            return trimmed(line.substr(equals + 1));
    }
    return std::nullopt;
}

std::optional<std::int64_t> number_of(std::string_view text, std::string_view name) {
    const auto value = value_of(text, name);
    const auto found = value ? signed_number(*value) : std::nullopt;
    return found && *found >= 0 && *found < longest_s ? found : std::nullopt;
}

}  // namespace

std::optional<WallMicros> end_in_scontrol(std::string_view text) {
    constexpr std::string_view name = "EndTime=";
    std::size_t at = text.find(name);
    // Skips matches within longer names, such as PreemptEndTime.
    while (at != std::string_view::npos && at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n')
        at = text.find(name, at + 1);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string value(text.substr(at + name.size(), 19));
    std::tm parts{};
    const char* const end = ::strptime(value.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
    if (end == nullptr || *end != '\0') return std::nullopt;  // "Unknown", "None"
    parts.tm_isdst = -1;
    const std::time_t seconds = std::mktime(&parts);
    if (seconds <= 0) return std::nullopt;
    return seconds * micros_per_second;
}

std::optional<std::int64_t> pbs_seconds(std::string_view text) {
    std::int64_t total = 0;
    constexpr std::int64_t weights[] = {1, 60, 3600, 86400};
    for (std::size_t place = 0; place < 4; ++place) {
        const std::size_t colon = text.rfind(':');
        const auto part = signed_number(colon == std::string_view::npos ? text : text.substr(colon + 1));
        if (!part || *part < 0 || *part > longest_s / weights[place]) return std::nullopt;
        total += *part * weights[place];
        if (colon == std::string_view::npos) return total;
        text = text.substr(0, colon);
    }
    return std::nullopt;
}

std::optional<WallMicros> end_in_qstat(std::string_view text, WallMicros now) {
    const auto limit = value_of(text, "Resource_List.walltime");
    const auto seconds = limit ? pbs_seconds(*limit) : std::nullopt;
    if (!seconds) return std::nullopt;
    const auto used = value_of(text, "resources_used.walltime");
    const std::int64_t gone = used ? pbs_seconds(*used).value_or(0) : 0;
    return now + std::max<std::int64_t>(*seconds - gone, 0) * micros_per_second;
}

std::optional<WallMicros> end_in_condor_ads(std::string_view job, std::string_view machine, WallMicros now) {
    std::optional<WallMicros> end;
    const auto consider = [&](std::optional<std::int64_t> seconds) {
        if (seconds && (!end || *seconds * micros_per_second < *end)) end = *seconds * micros_per_second;
    };
    const std::int64_t here = now / micros_per_second;
    const auto bounded = [&](const char* since, const char* allowed) {
        const auto length = number_of(job, allowed);
        if (length) consider(number_of(job, since).value_or(here) + *length);
    };
    bounded("JobCurrentStartExecutingDate", "AllowedExecuteDuration");
    bounded("JobCurrentStartDate", "AllowedJobDuration");
    for (const char* name : {"GLIDEIN_ToDie", "DaemonStopTime"}) consider(number_of(machine, name));
    return end;
}

}  // namespace wq::node::machine
