// Reads command lines and writes --help, both from one table of options, by the same rules for all commands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "node/machine/layout.h"

namespace wq::programs {

enum class Values { one, repeated, optional, several };  // several: words after one option

struct Option {
    const char* names;      // "long,s", "long" or ",s"
    const char* value;      // name of the value in --help; "": a flag, without a value
    const char* help = "";  // "": accepted, but neither shown nor suggested
    // Where the value goes if it is taken as it is; else its kind, for Given and OptionTaker.
    std::variant<Values, bool*, std::string*, std::vector<std::string>*> target = Values::one;
};

// Options of a row {group, TITLE} follow it, up to the next such row.
using OptionTable = std::vector<Option>;
inline constexpr const char* group = nullptr;

// The options of a command line by their long names; "-s" if there is only a short one. Flags have "".
struct Given {
    std::map<std::string, std::vector<std::string>> values;

    bool has(const std::string& name) const { return values.contains(name); }
    // "" and none, if the option is not given.
    std::string text(const std::string& name) const { return has(name) ? values.at(name).front() : ""; }
    std::vector<std::string> texts(const std::string& name) const {
        return has(name) ? values.at(name) : std::vector<std::string>();
    }
};

// Without the program's name.
std::vector<std::string> words_of(int argc, const char* const* argv);

// Words that are no options become the option `place`. Options cannot be abbreviated. Fills the targets of
// the table. Error (usage): an unknown or incomplete option.
Result<Given> read_options(const std::vector<std::string>& words, const OptionTable& table,
                           const char* place = "place");

// The text of --help: the options of the table between `usage` and `rest`.
std::string help_with(const char* usage, const OptionTable& table, const char* rest);

// Converts option values, and gives command line errors one form.

inline Error usage_error(const std::string& what) {
    return {ExitCode::usage, what + "; try --help"};
}

// Converts a whole number with these bounds.
inline auto between(std::int64_t low, std::int64_t high) {
    return [=](const std::string& text) { return parse_count(text, low, high); };
}

// Converts a size without a unit as bytes.
inline Result<std::int64_t> parse_bytes(const std::string& text) {
    return parse_size(text, 1);
}

template <class T>
struct Plain {
    using type = T;
};
template <class T>
struct Plain<std::optional<T>> {
    using type = T;
};

// Converts the values of options one after another, up to the first error.
class OptionTaker {
  public:
    explicit OptionTaker(const Given& given) : given_(given) {}

    // `target` is unchanged if the option is not given; an error names the option.
    template <class T, class Convert>
    void operator()(const char* name, T& target, const Convert& convert) {
        if (!status_ || !given_.has(name)) return;
        auto value = convert(given_.text(name));
        if (value)
            target = static_cast<typename Plain<T>::type>(*value);
        else
            status_ = usage_error(std::string("--") + name + ": " + value.error().message);
    }
    void check(Status status) {
        if (status_) status_ = std::move(status);
    }
    const Status& status() const { return status_; }

  private:
    const Given& given_;
    Status status_ = success();
};

// --bind: "none", "core", "numa". Error (usage): another word.
Result<node::machine::Binding> parse_binding(const std::string& word);

const char* binding_word(node::machine::Binding binding);

// --threads-per-core: a number from 1. Error (usage): not such a number.
Result<std::int64_t> parse_threads(const std::string& word);

}  // namespace wq::programs
