#include "factory/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "base/similar_word.h"
#include "base/units.h"
#include "net/catalog/catalog_client.h"

namespace wq::factory {

namespace {

constexpr std::int64_t most_seconds = std::int64_t{100} * 365 * 24 * 3600;

struct Key {
    const char* name;
    std::int64_t most;  // of a number; 0: a text; -1: true or false
    std::function<void(PoolSettings&, std::int64_t number, const std::string& text)> set;
};

const std::vector<Key>& keys() {
    using S = PoolSettings;
    using N = std::int64_t;
    using T = std::string;
    static const std::vector<Key> all{
        {"manager-name", 0, [](S& s, N, const T& t) { s.manager_name = t; }},
        {"master-name", 0, [](S& s, N, const T& t) { s.manager_name = t; }},
        {"catalog", 0, [](S& s, N, const T& t) { s.catalog = t; }},
        {"factory-name", 0, [](S& s, N, const T& t) { s.factory_name = t; }},
        {"min-workers", most_workers, [](S& s, N n, const T&) { s.min_workers = n; }},
        {"max-workers", most_workers, [](S& s, N n, const T&) { s.max_workers = n; }},
        {"workers-per-cycle", most_workers, [](S& s, N n, const T&) { s.workers_per_cycle = n; }},
        {"tasks-per-worker", most_workers,
         [](S& s, N n, const T&) { s.tasks_per_worker = n > 0 ? std::optional(n) : std::nullopt; }},
        {"capacity", -1, [](S& s, N n, const T&) { s.capacity = n != 0; }},
        {"timeout", most_seconds, [](S& s, N n, const T&) { s.timeout = std::chrono::seconds(n); }},
        {"factory-timeout", most_seconds,
         [](S& s, N n, const T&) { s.factory_timeout = std::chrono::seconds(n); }},
        {"autosize", -1, [](S& s, N n, const T&) { s.autosize = n != 0; }},
        {"cores", most_cores, [](S& s, N n, const T&) { s.size.cores = n; }},
        {"memory", most_mb, [](S& s, N n, const T&) { s.size.memory_mb = n; }},
        {"disk", most_mb, [](S& s, N n, const T&) { s.size.disk_mb = n; }},
        {"gpus", most_cores, [](S& s, N n, const T&) { s.size.gpus = n; }},
        {"worker-extra-options", 0, [](S& s, N, const T& t) { s.worker_extra_options = t; }},
        {"condor-requirements", 0, [](S& s, N, const T& t) { s.condor_requirements = t; }},
    };
    return all;
}

Error bad(const std::string& key, const std::string& why) {
    return {ExitCode::bad_input, key + ": " + why};
}

// Expressions may name each other: the depth ends circles.
Result<double> number_of(const Json& file, const Json& value, int depth = 0) {
    constexpr int deepest = 20;
    if (value.is_number()) return value.number();
    if (!value.is_string()) return Error{ExitCode::bad_input, "not a number"};
    if (depth > deepest) return Error{ExitCode::bad_input, "it depends on itself"};
    return evaluate(value.text(), [&](const std::string& key) -> std::optional<double> {
        const Json* const found = file.find(key);
        if (found == nullptr) return std::nullopt;
        const auto number = number_of(file, *found, depth + 1);
        return number ? std::optional(*number) : std::nullopt;
    });
}

Status set(const Key& key, const Json& file, const Json& value, PoolSettings& settings) {
    if (key.most == 0) {
        if (!value.is_string()) return bad(key.name, "not a text in quotes");
        key.set(settings, 0, value.text());
        return success();
    }
    if (key.most < 0) {
        if (!value.is_boolean() && value != 0 && value != 1) return bad(key.name, "neither true nor false");
        key.set(settings, value == true || value == 1 ? 1 : 0, {});
        return success();
    }
    const auto number = number_of(file, value);
    if (!number) return bad(key.name, number.error().message);
    const double whole = std::ceil(*number);
    if (!(whole >= 0) || whole > static_cast<double>(key.most))
        return bad(key.name, "not a number from 0 to " + std::to_string(key.most));
    key.set(settings, static_cast<std::int64_t>(whole), {});
    return success();
}

// "line 3, at '}'": where the parser gave up, after `byte` bytes.
std::string place_in(std::string text, std::size_t byte) {
    while (text.ends_with('\n')) text.pop_back();
    const std::size_t at = std::min(byte > 0 ? byte - 1 : 0, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::string rest = text.substr(at, text.find('\n', at) - at);
    return "line " + std::to_string(line) + ", at " + (rest.empty() ? "its end" : quote_for_message(rest));
}

}  // namespace

std::string_view why_refused(std::string_view option) {
    constexpr std::string_view environment =
        "workers run in no environment of their own; give it to the tasks (specify_environment of a "
        "PythonTask), or unpack it by worker-start-cmd";
    constexpr std::pair<std::string_view, std::string_view> all[] = {
        {"foremen-name", "there are no foremen; connect all workers to the manager"},
        {"poncho-env", environment},
        {"python-env", environment},
        {"python-package", environment},
        {"runos", "run the worker in an image by wrapper, such as 'apptainer exec IMAGE'"},
        {"wrapper-input", "name the file in wrapper by its full path, in a folder that the nodes see"}};
    for (const auto& [name, why] : all)
        if (name == option) return why;
    return {};
}

std::vector<std::string_view> setting_names() {
    std::vector<std::string_view> names;
    for (const Key& key : keys()) names.emplace_back(key.name);
    return names;
}

Result<PoolSettings> read_settings(const std::string& text, const PoolSettings& before) {
    std::size_t wrong_at = std::string::npos;
    Json file = Json::parse_commented(text, wrong_at);
    if (file.is_discarded())
        return Error{
            ExitCode::bad_input,
            "it is not valid JSON" + (wrong_at == std::string::npos ? "" : ": " + place_in(text, wrong_at))};
    if (!file.is_object())
        return Error{ExitCode::bad_input, "it is no JSON object, such as {\"max-workers\": 20}"};
    std::ranges::sort(file.members(), {}, &Json::Member::key);
    PoolSettings settings = before;
    for (const auto& [name, value] : std::as_const(file).members()) {
        if (const std::string_view why = why_refused(name); !why.empty()) return bad(name, std::string(why));
        const auto known = std::find_if(keys().begin(), keys().end(),
                                        [&name = name](const Key& key) { return name == key.name; });
        if (known == keys().end())
            return bad(name, "there is no such key" + did_you_mean(most_similar(name, setting_names())));
        if (const Status status = set(*known, file, value, settings); !status) return status.error();
    }
    if (const auto catalogs = net::catalog::read_catalog_hosts(settings.catalog); !catalogs)
        return bad("catalog", catalogs.error().message);
    // A maximum below the minimum of before is enough said.
    if (file.find("min-workers") == nullptr)
        settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    if (settings.min_workers > settings.max_workers)
        return bad("min-workers", std::to_string(settings.min_workers) + " is above max-workers, " +
                                      std::to_string(settings.max_workers));
    return settings;
}

namespace {

constexpr int deepest = 100;  // parentheses, and minus signs in a row

// Recursive descent: one function a level of precedence. The first trouble stays; what follows is ignored.
class Parser {
  public:
    Parser(std::string_view text, const ValueOf& value) : text_(text), value_(value) {}

    Result<double> whole() {
        const double value = sum();
        blanks();
        if (trouble_.empty() && at_ < text_.size())
            trouble_ = "what is " + quote_for_message(text_.substr(at_)) + "?";
        if (trouble_.empty() && !std::isfinite(value)) trouble_ = "it is no finite number";
        if (trouble_.empty()) return value;
        return Error{ExitCode::bad_input, quote_for_message(text_) + ": " + trouble_};
    }

  private:
    double sum() {
        double value = product();
        while (trouble_.empty()) {
            if (take('+'))
                value += product();
            else if (take('-'))
                value -= product();
            else
                break;
        }
        return value;
    }

    double product() {
        double value = factor();
        while (trouble_.empty()) {
            if (take('*'))
                value *= factor();
            else if (take('/'))
                value /= factor();
            else
                break;
        }
        return value;
    }

    double factor() {
        if (++depth_ > deepest) return fail("it is nested too deeply");
        const double value = operand();
        --depth_;
        return value;
    }

    double operand() {
        if (take('-')) return -factor();
        if (take('(')) return inside();
        blanks();
        const std::size_t first = at_;
        const auto is_in_key = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
        };
        if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) {
            while (at_ < text_.size() && is_in_key(text_[at_])) ++at_;
            return named(std::string(text_.substr(first, at_ - first)));
        }
        return number();
    }

    double inside() {
        const double value = sum();
        return take(')') ? value : fail("a ')' is missing");
    }

    double number() {
        double value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) return fail("a number is missing");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    double named(const std::string& name) {
        if ((name == "min" || name == "max") && take('(')) {
            double value = sum();
            while (trouble_.empty() && take(',')) {
                const double other = sum();
                value = name == "min" ? std::min(value, other) : std::max(value, other);
            }
            return take(')') ? value : fail("a ')' is missing");
        }
        const auto value = value_(name);
        return value ? *value : fail("there is no number " + quote_for_message(name));
    }

    void blanks() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    bool take(char what) {
        blanks();
        if (!trouble_.empty() || at_ >= text_.size() || text_[at_] != what) return false;
        ++at_;
        return true;
    }
    double fail(const std::string& trouble) {
        if (trouble_.empty()) trouble_ = trouble;
        return 0;
    }

    std::string_view text_;
    const ValueOf& value_;
    std::size_t at_ = 0;
    int depth_ = 0;
    std::string trouble_;
};

}  // namespace

Result<double> evaluate(std::string_view text, const ValueOf& value) {
    return Parser(text, value).whole();
}

}  // namespace wq::factory
