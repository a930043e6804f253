#include "programs/command_line.h"

#include <algorithm>

#include "base/similar_word.h"
#include "base/units.h"
#include "programs/option_values.h"

namespace wq::programs {

namespace {

namespace po = boost::program_options;

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

}  // namespace

std::vector<std::string> words_of(int argc, const char* const* argv) {
    return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

Result<po::variables_map> split_words(const std::vector<std::string>& words,
                                      const po::options_description& shown, const char* place,
                                      const po::options_description& hidden) {
    po::options_description all;
    all.add(shown).add(hidden).add_options()(place, po::value<std::vector<std::string>>());
    po::positional_options_description places;
    places.add(place, -1);
    // An abbreviation that works today may be ambiguous tomorrow.
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::variables_map given;
    try {
        po::store(po::command_line_parser(words).options(all).positional(places).style(style).run(), given);
    } catch (const po::error& wrong) {
        return refusal(wrong, shown);
    }
    return given;
}

std::string without_trailing_blanks(const std::string& text) {
    std::string clean;
    clean.reserve(text.size());
    for (const char byte : text) {
        if (byte == '\n') clean.erase(clean.find_last_not_of(' ') + 1);
        clean += byte;
    }
    return clean;
}

}  // namespace wq::programs
