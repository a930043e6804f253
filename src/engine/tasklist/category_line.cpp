#include "engine/tasklist/category_line.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/units.h"
#include "engine/tasklist/settings.h"
#include "engine/tasklist/tags.h"

namespace wq::engine::tasklist {

namespace {

constexpr std::int64_t most_concurrent = 1'000'000'000;

struct Part {
    std::string_view name;
    std::string_view nickname;
    std::optional<CategoryResources> CategoryLine::*sizes;
};

constexpr std::array<Part, 3> parts{{{"max", "maximum", &CategoryLine::max},
                                     {"min", "minimum", &CategoryLine::min},
                                     {"first", "guess", &CategoryLine::first}}};

Status set_mode(CategoryLine& line, std::string_view value) {
    std::string names;
    for (int number = 0; number <= static_cast<int>(model::last_mode); ++number) {
        const auto mode = static_cast<model::AllocationMode>(number);
        if (value == model::name_of(mode)) {
            line.mode = mode;
            return success();
        }
        names.append(names.empty() ? "" : ", ").append(model::name_of(mode));
    }
    return Error{ExitCode::bad_input, quote_for_message(value) + " is not one of " + names};
}

// With 0 its tasks would wait forever.
Status set_concurrent(CategoryLine& line, std::string_view value) {
    if (value.empty()) {
        line.concurrent = CategoryLine::unlimited;
        return success();
    }
    return set_field(line.concurrent, value,
                     [](std::string_view text) { return parse_count(text, 1, most_concurrent); });
}

struct CategoryKey {
    std::string_view name;
    std::string_view nickname;
    Status (*set_size)(CategoryResources&, std::string_view);
    Status (*set)(CategoryLine&, std::string_view) = nullptr;  // null: a setting of the whole line
};

using Sizes = CategoryResources;
constexpr std::array<CategoryKey, 6> category_keys{{
    {"cores", "cpus", [](Sizes& s, std::string_view v) { return set_field(s.cores, v, parse_fraction); }},
    {"memory", "mem", [](Sizes& s, std::string_view v) { return set_field(s.memory_mb, v, parse_memory); }},
    {"disk", "tmp", [](Sizes& s, std::string_view v) { return set_field(s.disk_mb, v, parse_megabytes); }},
    {"gpus", "gres", [](Sizes& s, std::string_view v) { return set_field(s.gpus, v, parse_fraction); }},
    {"mode", "allocation", nullptr, set_mode},
    {"concurrent", "max-concurrent", nullptr, set_concurrent},
}};

Error bad_category(std::string message) {
    return Error{ExitCode::bad_input,
                 std::move(message) +
                     "; write #WQ-CATEGORY NAME, then cores= memory= disk= gpus= after max, "
                     "min or first, and mode= concurrent="};
}

Error unknown(std::string_view word, bool has_value) {
    std::string hint = has_value ? std::string{} : suggest_key(word, parts);
    if (hint.empty()) hint = suggest_key(word, category_keys);
    return bad_category("unknown word " + quote_for_message(word) + " in a #WQ-CATEGORY line" + hint);
}

// Such a name probably means that the line lacks a name.
bool is_part_or_key(std::string_view word) {
    const std::string_view key = word.substr(0, word.find('='));
    return std::ranges::find(parts, word, &Part::name) != parts.end() ||
           (key.size() < word.size() &&
            std::ranges::find(category_keys, key, &CategoryKey::name) != category_keys.end());
}

Result<std::string> take_name(std::string_view& words) {
    const std::string_view word = take_word(words);
    if (word.empty() || word == "#") return bad_category("a #WQ-CATEGORY line without a category");
    if (is_part_or_key(word))
        return bad_category(quote_for_message(word) + " is not a category name, which comes first");
    auto name = parse_category_name(word);
    if (!name) return Error{ExitCode::bad_input, name.error().message};
    return name;
}

class LineParser {
  public:
    explicit LineParser(CategoryLine& line) : line_(line) {}

    Status take(std::string_view word) {
        const auto* part = std::ranges::find(parts, word, &Part::name);
        if (part != parts.end()) {
            part_ = part;
            sizes();
            return success();
        }
        const std::size_t sign = word.find('=');
        const std::string_view name = word.substr(0, sign);
        const auto* key = std::ranges::find(category_keys, name, &CategoryKey::name);
        if (key == category_keys.end()) return unknown(name, sign != std::string_view::npos);
        const std::string quoted = "'" + std::string(name) + "'";
        if (sign == std::string_view::npos)
            return bad_category(quoted + " has no value; write " + std::string(name) + "=VALUE");
        if (!given_.insert({key->set == nullptr ? part_ : nullptr, key}).second)
            return bad_category(quoted + " is given twice in one #WQ-CATEGORY line; keep one");
        const std::string_view value = word.substr(sign + 1);
        auto status = key->set == nullptr ? key->set_size(sizes(), value) : key->set(line_, value);
        if (!status) return bad_category("bad value of " + quoted + ": " + status.error().message);
        if (part_->sizes != &CategoryLine::min && (line_.*part_->sizes) && sizes().cores == Count(0))
            return Error{ExitCode::bad_input,
                         "bad value of 'cores': its tasks need more than 0; write #WQ cores=0 above tasks "
                         "that only wait"};
        return success();
    }

  private:
    CategoryResources& sizes() {
        auto& sizes = line_.*part_->sizes;
        return sizes ? *sizes : sizes.emplace();
    }

    CategoryLine& line_;
    const Part* part_ = parts.data();
    std::set<std::pair<const Part*, const CategoryKey*>> given_;
};

const char* bound_crossed(const CategoryResources& min, const CategoryResources& max) {
    const auto above = [](const auto& least, const auto& most) { return least && most && *least > *most; };
    return above(min.cores, max.cores)           ? "cores"
           : above(min.memory_mb, max.memory_mb) ? "memory"
           : above(min.disk_mb, max.disk_mb)     ? "disk"
           : above(min.gpus, max.gpus)           ? "gpus"
                                                 : nullptr;
}

}  // namespace

Result<CategoryLine> parse_category_line(std::string_view words) {
    auto name = take_name(words);
    if (!name) return name.error();
    CategoryLine line;
    line.name = *name;
    LineParser parser(line);
    bool any = false;
    for (auto word = take_word(words); !word.empty() && word != "#"; word = take_word(words)) {
        if (auto status = parser.take(word); !status) return status.error();
        any = true;
    }
    if (!any) return bad_category("there are no settings for the category " + quote_for_message(line.name));
    return line;
}

// Otherwise the maximum would silently win.
Status CategoryBounds::take(const CategoryLine& line, std::uint64_t number) {
    Known& known = known_[line.name];
    if (line.max) known.max = {*line.max, number};
    if (line.min) known.min = {*line.min, number};
    const char* const name = bound_crossed(known.min.sizes, known.max.sizes);
    if (name == nullptr) return success();
    const std::uint64_t other = std::min(known.min.line, known.max.line);
    const std::string where = other == number ? "" : " (line " + std::to_string(other) + " sets the other)";
    return Error{ExitCode::bad_input,
                 "the min of '" + std::string(name) + "' is above its max" + where + "; raise the max"};
}

}  // namespace wq::engine::tasklist
