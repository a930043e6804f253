#include "engine/tasklist/list.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/units.h"
#include "engine/tasklist/settings.h"
#include "engine/tasklist/shell_scan.h"
#include "engine/tasklist/tags.h"

namespace wq::engine::tasklist {

namespace {

Error bad_line(std::string message) {
    return Error{ExitCode::bad_input, std::move(message)};
}

bool is_garbage(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\x1b') || byte == 0x7F;
}

// Control bytes that no text has; tab is allowed, and escape, for coloured echoes.
std::optional<std::string> garbage_in(std::string_view line) {
    // Without an early exit the compiler can vectorize the loop.
    bool any = false;
    for (const char c : line) any |= is_garbage(c);
    if (!any) return std::nullopt;
    const auto at = std::ranges::find_if(line, is_garbage);
    const std::string column = " at column " + std::to_string(at - line.begin() + 1);
    if (*at == '\0') return "a NUL byte" + column + "; a task list is plain text";
    return "a control byte " + quote_for_message(std::string_view(&*at, 1)) + column +
           "; a task list is plain text (in a command, write it as an escape of printf)";
}

// Variables by which a `runtask` list configures where its workers run.
std::optional<std::string_view> runtask_variable(std::string_view command) {
    constexpr std::array<std::string_view, 3> names{"newtask", "newid", "jumpto"};
    const std::string plain = scan_shell(command).plain;
    for (const std::string_view name : names) {
        for (std::size_t at = plain.find(name); at != std::string::npos; at = plain.find(name, at + 1)) {
            const std::string_view rest = std::string_view(plain).substr(at + name.size());
            const bool word =
                at == 0 || std::string_view(" \t;&|({!").find(plain[at - 1]) != std::string_view::npos;
            if (word && (rest.starts_with('=') || rest.starts_with("+="))) return name;
        }
    }
    return std::nullopt;
}

std::optional<std::string> refuse_environment(const TaggedLine& line) {
    if (!line.tags.groups.empty()) {
        return "a '#!' line cannot be in a group; put a bare '#:' line before it, and only '#!' on it";
    }
    if (const auto name = runtask_variable(line.command)) {
        return "'" + std::string(*name) + "' works only in runtask; this list cannot jump or rename workers";
    }
    return std::nullopt;
}

bool all_tags(std::string_view words) {
    for (auto word = take_word(words); !word.empty(); word = take_word(words)) {
        if (!is_tag_word(word)) return false;
    }
    return true;
}

enum class HashLine { comment, settings, category, tags, lone_tag_and_words, misspelt_settings };

// The kind of a line whose first non-blank byte is `#`.
HashLine kind_of(std::string_view line) {
    std::string_view rest = line;
    const std::string_view first = take_word(rest);
    if (first == "#WQ") return HashLine::settings;
    if (first == "#WQ-CATEGORY") return HashLine::category;
    if (first == "#wq" || first == "#Wq" || first.starts_with("#WQ")) return HashLine::misspelt_settings;
    if (all_tags(line)) return HashLine::tags;
    const bool lone = first == "#:" || first == "#!";
    const std::string_view second = take_word(rest);
    const bool shebang = first == "#!" && second.starts_with('/');
    return lone && !shebang ? HashLine::lone_tag_and_words : HashLine::comment;
}

Result<std::optional<Item>> tags_alone(std::string_view line, std::uint64_t number) {
    auto split = split_tags(line);
    if (!split) return split.error();
    const Tags& tags = split->tags;
    const bool bare = tags.barrier && tags.groups.size() == 1 && !tags.environment && tags.workers.empty();
    if (bare) return std::optional<Item>(Barrier{number});
    return bad_line(
        "tags without a command; write the command before its tags (only a bare '#:' stands alone)");
}

}  // namespace

Result<std::optional<Item>> ListReader::hash_line(std::string_view line) {
    switch (kind_of(line)) {
        case HashLine::comment:
            return std::optional<Item>{};
        case HashLine::tags:
            return tags_alone(line, line_);
        case HashLine::misspelt_settings:
            return bad_line("settings begin with '#WQ ', those of a category with '#WQ-CATEGORY NAME'");
        case HashLine::lone_tag_and_words:
            return bad_line("tags follow a command, or '#:' stands alone; write a comment as '# ...'");
        case HashLine::category:
        case HashLine::settings:
            break;
    }
    const std::string_view text = line;
    if (take_word(line) == "#WQ-CATEGORY") {
        auto category = parse_category_line(line);
        if (!category) return category.error();
        if (auto status = category_bounds_.take(*category, line_); !status) return status.error();
        return std::optional<Item>(CategorySettings{line_, std::move(*category), std::string(text)});
    }
    const std::vector<std::string> before = settings_.outputs;
    if (auto status = apply_settings(line, settings_); !status) return status.error();
    if (settings_.outputs != before) outputs_made_at_ = 0;
    return std::optional<Item>(SettingsLine{line_, settings_});
}

Result<std::optional<Item>> ListReader::command_line(std::string_view line) {
    auto split = split_tags(line);
    if (!split) return split.error();
    if (!split->tags.environment) {
        // Two tasks that make one file: the last one to finish would win, and a folder would have only its
        // files.
        if (!settings_.outputs.empty() && std::exchange(outputs_made_at_, line_) != 0)
            return bad_line("the output " + quote_for_message(settings_.outputs.front()) +
                            " already belongs to another task; give each its own '#WQ output=PATH', or '#WQ "
                            "output=' for none");
        TaskLine task;
        task.line = line_;
        task.command = split->command;
        task.groups = std::move(split->tags.groups);
        task.workers = std::move(split->tags.workers);
        task.environment_position = environment_lines_;
        return std::optional<Item>(std::move(task));
    }
    if (auto problem = refuse_environment(*split)) return bad_line(std::move(*problem));
    return std::optional<Item>(EnvironmentLine{line_, ++environment_lines_, std::string(split->command),
                                               std::move(split->tags.workers)});
}

Result<std::optional<Item>> ListReader::item_of(std::string_view line) {
    if (line.size() > max_line_bytes) {
        return bad_line("a line longer than 1 MiB; put the command into a script, or its input into a file");
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // editors mark UTF-8 this way
    if (auto problem = garbage_in(line)) return bad_line(std::move(*problem));
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return std::optional<Item>{};
    line.remove_prefix(start);
    return line.front() == '#' ? hash_line(line) : command_line(line);
}

Status ListReader::take_line(std::string_view line, std::vector<Item>& items) {
    ++line_;
    auto item = item_of(line);
    if (!item) {
        Error error = item.error();
        error.message = name_ + ":" + std::to_string(line_) + ": " + error.message;
        error_ = error;
        return error;
    }
    if (item->has_value()) items.push_back(std::move(**item));
    return success();
}

Status ListReader::feed(std::string_view bytes, std::vector<Item>& items) {
    if (error_) return *error_;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        const bool complete = end != std::string_view::npos;
        if (!complete || !partial_.empty()) {
            // One byte above the limit is enough to report it.
            partial_.append(
                piece.substr(0, max_line_bytes + 1 - std::min(partial_.size(), max_line_bytes + 1)));
        }
        if (complete || partial_.size() > max_line_bytes) {
            const std::string line = std::exchange(partial_, {});
            if (auto status = take_line(line.empty() ? piece : line, items); !status) return status;
        }
        bytes.remove_prefix(complete ? end + 1 : bytes.size());
    }
    return success();
}

Status ListReader::finish(std::vector<Item>& items) {
    if (error_) return *error_;
    const std::string line = std::exchange(partial_, {});
    return line.empty() ? success() : take_line(line, items);
}

}  // namespace wq::engine::tasklist
