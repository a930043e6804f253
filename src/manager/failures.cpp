#include "manager/failures.h"

#include <algorithm>
#include <deque>
#include <string_view>

#include "base/text.h"

namespace wq::manager {

namespace {

std::string without_numbers(const std::string& text) {
    std::string plain;
    for (const char c : text) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit)
            plain += c;
        else if (plain.empty() || plain.back() != '0')
            plain += '0';
    }
    return plain;
}

// The exceeded resources, without amounts, which may differ between nodes.
std::string too_little_of(const engine::model::Outcome& outcome) {
    std::string kinds;
    for (const engine::model::ResourceKind kind : engine::model::resource_kinds)
        kinds += outcome.measured && outcome.measured->exceeded.at(kind) >= 0 ? "1" : "0";
    return kinds;
}

std::string kind_of(const FailureExample& example) {
    const engine::model::Outcome& outcome = example.outcome;
    std::string kind = std::string(engine::model::name_of(outcome.ending)) + " " +
                       std::to_string(outcome.exit_code) + " " + std::to_string(outcome.signal) + " ";
    if (engine::model::is_exhaustion(outcome.ending))
        kind += example.category + " " + too_little_of(outcome) + " ";
    return kind + without_numbers(example.stderr_tail);
}

}  // namespace

std::string place_of(TaskId task, std::uint64_t line) {
    const std::uint64_t number = task.value() + 1;
    std::string text = "task " + std::to_string(number);
    if (line > 0 && line != number) text += " (line " + std::to_string(line) + ")";
    return text;
}

void Failures::add(FailureExample example) {
    const std::string kind = kind_of(example);
    if (const auto known = places_.find(kind); known != places_.end()) {
        ++kinds_[known->second].count;
        return;
    }
    if (kinds_.size() == most_kinds) {
        ++others_;
        return;
    }
    places_.emplace(kind, kinds_.size());
    kinds_.push_back(std::move(example));
}

void Failures::add_environment(EnvironmentExample example) {
    const auto same = std::find_if(environment_.begin(), environment_.end(),
                                   [&](const auto& known) { return known.line == example.line; });
    if (same != environment_.end())
        ++same->workers;
    else if (environment_.size() < most_kinds)
        environment_.push_back(std::move(example));
}

bool Failures::skip(SkippedExample example) {
    const auto same = std::find_if(skipped_.begin(), skipped_.end(), [&](const SkippedExample& known) {
        return known.reason == example.reason;
    });
    if (same != skipped_.end()) {
        same->count += example.count;
        example.tasks.for_each([&](Interval part) { same->tasks.insert(part); });
        return false;
    }
    if (skipped_.size() == most_kinds) {
        other_skipped_ += example.count;
        return false;
    }
    skipped_.push_back(std::move(example));
    return true;
}

std::optional<std::string> Failures::why_skipped(TaskId task) const {
    for (const SkippedExample& known : skipped_)
        if (known.tasks.contains(task.value())) return known.reason;
    return std::nullopt;
}

namespace {

constexpr std::size_t widest = 200;  // line of a message

bool is_ruler(std::string_view line) {
    constexpr std::size_t shortest = 60;
    return line.size() >= shortest && (line.front() == '-' || line.front() == '=') &&
           line.find_first_not_of(line.front()) == std::string_view::npos;
}

// The next line that is neither empty nor a ruler; empty: there is none.
std::string_view next_of_text(std::string_view& rest) {
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.empty() && !is_ruler(line)) return line;
    }
    return {};
}

bool has_ruler(std::string_view text) {
    while (!text.empty())
        if (is_ruler(next_line(text))) return true;
    return false;
}

}  // namespace

std::string lines_of_cause(const std::string& text) {
    constexpr std::size_t first_lines = 3;
    constexpr std::size_t shown = 5;
    const std::string tail = last_lines(text, static_cast<int>(shown));
    if (!has_ruler(tail)) return tail;
    std::deque<std::string_view> lines;
    bool leaves_out = false;
    std::string_view rest = text;
    for (auto line = next_of_text(rest); !line.empty(); line = next_of_text(rest)) {
        lines.push_back(line.substr(0, widest));
        if (lines.size() <= shown) continue;
        lines.erase(lines.begin() + first_lines);
        leaves_out = true;
    }
    if (leaves_out) lines.insert(lines.begin() + first_lines, "...");
    std::string told;
    for (const std::string_view line : lines) told += (told.empty() ? "" : "\n") + std::string(line);
    return told;
}

std::string last_lines(const std::string& text, int lines) {
    std::size_t end = text.size();
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
    std::string tail;
    while (lines-- > 0 && end > 0) {
        const std::size_t newline = text.rfind('\n', end - 1);
        const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
        std::string line = text.substr(begin, std::min(end - begin, widest));
        tail = tail.empty() ? line : line + "\n" + tail;
        end = begin == 0 ? 0 : begin - 1;
    }
    return tail;
}

}  // namespace wq::manager
