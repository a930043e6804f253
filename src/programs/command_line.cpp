#include "programs/command_line.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

#include <boost/program_options.hpp>

#include "base/similar_word.h"

namespace wq::programs {

namespace {

namespace po = boost::program_options;

using Texts = std::vector<std::string>;

constexpr unsigned help_width = 80;  // fits the narrowest terminals

// Null for a flag. The caller owns it.
const po::value_semantic* semantic_of(const Option& option) {
    if (*option.value == '\0') return new po::untyped_value(true);
    const auto* const values = std::get_if<Values>(&option.target);
    const bool repeated = values != nullptr && (*values == Values::repeated || *values == Values::several);
    if (repeated || std::holds_alternative<Texts*>(option.target)) {
        auto* const texts = po::value<Texts>()->value_name(option.value);
        return values != nullptr && *values == Values::several ? texts->multitoken() : texts;
    }
    auto* const text = po::value<std::string>()->value_name(option.value);
    return values != nullptr && *values == Values::optional ? text->implicit_value("") : text;
}

// The options of the table that are shown, or those that are not.
enum class Listed : std::uint8_t { in_help, nowhere };

po::options_description described(const OptionTable& table, Listed listed) {
    std::vector<po::options_description> parts;
    for (const Option& row : table)
        if (row.names == group)
            parts.emplace_back(row.value, help_width, help_width / 2);
        else if ((*row.help != '\0') == (listed == Listed::in_help))
            parts.back().add_options()(row.names, semantic_of(row), row.help);
    if (parts.size() == 1) return parts.front();  // its columns are narrower than those of a part
    po::options_description all("", help_width, help_width / 2);
    for (const po::options_description& part : parts) all.add(part);
    return all;
}

Error refusal(const po::error& wrong, const po::options_description& shown) {
    const auto* const unknown = dynamic_cast<const po::unknown_option*>(&wrong);
    if (unknown == nullptr) return usage_error(wrong.what());
    std::vector<std::string> names;
    for (const auto& option : shown.options()) names.push_back("--" + option->long_name());
    std::string word = unknown->get_option_name();  // with its value
    word.resize(std::min(word.size(), word.find('=')));
    const std::string text = "unknown option " + line_for_message(word);
    const auto similar = most_similar(word, {names.begin(), names.end()});
    if (similar.empty()) return usage_error(text);
    return {ExitCode::usage, text + "; did you mean " + std::string(similar) + "?"};
}

void fill_target(const Option& option, const Given& given) {
    std::string name = option.names;
    name.resize(std::min(name.size(), name.find(',', 1)));
    std::replace(name.begin(), name.begin() + 1, ',', '-');
    if (!given.has(name)) return;
    if (const auto* const flag = std::get_if<bool*>(&option.target)) **flag = true;
    if (const auto* const text = std::get_if<std::string*>(&option.target)) **text = given.text(name);
    if (const auto* const texts = std::get_if<Texts*>(&option.target)) **texts = given.texts(name);
}

// Boost's program_options leaves a blank at the end of lines that it wraps.
std::string without_trailing_blanks(const std::string& text) {
    std::string clean;
    clean.reserve(text.size());
    for (const char byte : text) {
        if (byte == '\n') clean.erase(clean.find_last_not_of(' ') + 1);
        clean += byte;
    }
    return clean;
}

}  // namespace

std::vector<std::string> words_of(int argc, const char* const* argv) {
    return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

Result<Given> read_options(const std::vector<std::string>& words, const OptionTable& table,
                           const char* place) {
    const po::options_description shown = described(table, Listed::in_help);
    po::options_description all;
    all.add(shown).add(described(table, Listed::nowhere)).add_options()(place, po::value<Texts>());
    po::positional_options_description places;
    places.add(place, -1);
    // An abbreviation that works today may be ambiguous tomorrow.
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::variables_map found;
    try {
        po::store(po::command_line_parser(words).options(all).positional(places).style(style).run(), found);
    } catch (const po::error& wrong) {
        return refusal(wrong, shown);
    }
    Given given;
    for (const auto& [name, value] : found) {
        const auto* const texts = boost::any_cast<Texts>(&value.value());
        given.values[name] = texts != nullptr ? *texts : Texts{value.as<std::string>()};
    }
    for (const Option& option : table)
        if (option.names != group) fill_target(option, given);
    return given;
}

std::string help_with(const char* usage, const OptionTable& table, const char* rest) {
    std::ostringstream out;
    out << usage << described(table, Listed::in_help) << rest;
    return without_trailing_blanks(out.str());
}

namespace {
constexpr std::int64_t most_threads = 1024;  // per core
}

Result<node::machine::Binding> parse_binding(const std::string& word) {
    using node::machine::Binding;
    for (const Binding binding : {Binding::none, Binding::core, Binding::node})
        if (word == binding_word(binding)) return binding;
    return Error{ExitCode::usage, quote_for_message(word) + " is not one of none, core, numa"};
}

const char* binding_word(node::machine::Binding binding) {
    switch (binding) {
        case node::machine::Binding::core:
            return "core";
        case node::machine::Binding::node:
            return "numa";
        default:
            return "none";
    }
}

Result<std::int64_t> parse_threads(const std::string& word) {
    return parse_count(word, 1, most_threads);
}

}  // namespace wq::programs
