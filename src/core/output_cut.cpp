#include "core/output_cut.h"

#include <algorithm>

namespace wq::core {

std::string cut_marker(const char* stream, std::uint64_t lost, std::uint64_t limit) {
    return "[work_queue: " + std::to_string(lost) + " more bytes of " + stream + " not kept; the limit is " +
           std::to_string(limit) + " bytes]";
}

void cut_at(std::uint64_t limit, std::string& text, const char* stream, std::uint64_t total) {
    if (total <= limit) return;
    if (text.size() > limit) text.resize(limit);
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += cut_marker(stream, total - limit, limit) + '\n';
}

void cut_again(std::uint64_t limit, Output& output, const Outcome& outcome) {
    constexpr std::uint64_t longest_marker = 160;
    const auto cut = [&](std::string& text, const char* stream, std::uint64_t total) {
        if (text.size() <= limit + longest_marker) return;
        cut_at(limit, text, stream, std::max<std::uint64_t>(total, text.size()));
        text.shrink_to_fit();
    };
    cut(output.out, "stdout", outcome.stdout_bytes);
    cut(output.err, "stderr", outcome.stderr_bytes);
}

}  // namespace wq::core
