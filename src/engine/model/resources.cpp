#include "engine/model/resources.h"

#include <algorithm>

#include "engine/model/allocation.h"

namespace wq::engine::model {

namespace {

void append(std::string& text, const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
}

std::string counted(Count count, const char* noun) {
    return format_count_with_fraction(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string megabytes(std::int64_t mb) {
    if (mb >= 10 * 1024 && mb % 1024 == 0) return std::to_string(mb / 1024) + " GB";
    return std::to_string(mb) + " MB";
}

}  // namespace

std::string describe(const Resources& resources) {
    std::string text;
    if (resources.cores > 0) append(text, counted(resources.cores, "core"));
    if (resources.memory_mb > 0) append(text, megabytes(resources.memory_mb) + " memory");
    if (resources.disk_mb > 0) append(text, megabytes(resources.disk_mb) + " disk");
    if (resources.gpus > 0) append(text, counted(resources.gpus, "GPU"));
    if (resources.coprocesses > 0)
        append(text, std::to_string(resources.coprocesses) +
                         (resources.coprocesses == 1 ? " coprocess" : " coprocesses"));
    return text.empty() ? "nothing" : text;
}

std::int64_t how_many_fit(const Resources& share, const Resources& whole) {
    if (share.coprocesses > 0) return whole.coprocesses / share.coprocesses;
    std::int64_t fit = most_weightless(whole);
    const auto bound = [&](std::int64_t part, std::int64_t all) {
        if (part > 0) fit = std::min(fit, all / part);
    };
    if (share.cores > 0) fit = std::min(fit, how_many_seats(share.cores, whole.cores));
    bound(share.memory_mb, whole.memory_mb);
    bound(share.disk_mb, whole.disk_mb);
    if (share.gpus > 0) fit = std::min(fit, how_many_seats(share.gpus, whole.gpus));
    return fit;
}

std::string describe(const Needs& needs) {
    if (needs.remote()) return describe(Resources{0, 0, 0, 0, needs.coprocesses});
    const Resources said{std::max<Count>(needs.cores, 0), std::max<std::int64_t>(needs.memory_mb, 0),
                         std::max<std::int64_t>(needs.disk_mb, 0), std::max<Count>(needs.gpus, 0)};
    if (said == Resources{}) return needs.cores == 0 ? "nothing" : "a whole worker";
    return describe(said);
}

}  // namespace wq::engine::model
