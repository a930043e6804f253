#include "node/machine/batch_end.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>

#include "base/next_line.h"
#include "base/read_write.h"
#include "base/time.h"

namespace wq::node::machine {

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
