// Reads command lines and writes --help, both from one table of options, by the same rules for all commands.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace wq::programs {

enum class Values { one, repeated, optional, several };  // several: words after one option

struct Option {
    const char* names;      // "long,s", "long" or ",s"
    const char* value;      // name of the value in --help; "": a flag, without a value
    const char* help = "";  // "": accepted, but neither shown nor suggested
    // Where the value goes if it is taken as it is; else its kind, for Given and Taker.
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

}  // namespace wq::programs
