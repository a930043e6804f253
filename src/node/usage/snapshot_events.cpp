#include "node/usage/snapshot_events.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "engine/model/outcome.h"

namespace wq::node::usage {

namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_line = 64u << 10;
constexpr off_t most_read = 1 << 20;  // at one look, because other tasks wait

template <class T>
T member(const Json& object, const char* name, T otherwise) {
    const auto found = object.find(name);
    try {
        return found == object.end() ? otherwise : found->get<T>();
    } catch (const Json::exception&) {
        return otherwise;
    }
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
    const Json all = Json::parse(in, nullptr, false);
    if (!all.is_object()) return nullptr;
    auto made = std::make_unique<SnapshotEvents>();
    for (const auto& [name, said] : all.items()) {
        if (!said.is_object()) continue;
        File& file = made->files_.emplace_back();
        file.path = folder + "/" + name;
        file.from_start_if_truncated = member(said, "from-start-if-truncated", true);
        file.delete_if_found = member(said, "delete-if-found", false);
        const std::optional<off_t> size = size_before(file.path, began);
        file.is_there = size.has_value();
        if (size && !member(said, "from-start", false)) file.read = *size;
        for (const Json& one : member(said, "events", Json::array())) {
            if (!one.is_object()) continue;
            Event& event = file.events.emplace_back();
            event.label = member(one, "label", std::string());
            event.on_create = member(one, "on-create", false);
            event.on_truncate = member(one, "on-truncate", false);
            event.count = member(one, "count", -1L);
            const std::string pattern = member(one, "pattern", std::string());
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
