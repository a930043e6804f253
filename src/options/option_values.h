// Converts option values in po::variables_map, and gives command line errors one form.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/similar_word.h"

namespace wq::options {

inline Error usage_error(const std::string& what) {
    return {ExitCode::usage, what + "; try --help"};
}

// What Boost found wrong; of an unknown option, with the most similar of `known`.
inline Error usage_error(const boost::program_options::error& wrong,
                         const boost::program_options::options_description& known) {
    const auto* const unknown = dynamic_cast<const boost::program_options::unknown_option*>(&wrong);
    if (unknown == nullptr) return usage_error(wrong.what());
    std::vector<std::string> options;
    for (const auto& option : known.options()) options.push_back("--" + option->long_name());
    const std::string word = unknown->get_option_name();  // with its value
    const auto option = most_similar(word.substr(0, word.find('=')), {options.begin(), options.end()});
    return usage_error(wrong.what() + did_you_mean(option));
}

template <class T>
struct Plain {
    using type = T;
};
template <class T>
struct Plain<std::optional<T>> {
    using type = T;
};

// `target` is unchanged if the option is not given; an error names the option.
template <class T, class Convert>
Status take(const boost::program_options::variables_map& given, const char* name, T& target,
            Convert convert) {
    if (given.count(name) == 0) return success();
    auto value = convert(given[name].as<std::string>());
    if (!value) return usage_error(std::string("--") + name + ": " + value.error().message);
    target = static_cast<typename Plain<T>::type>(*value);
    return success();
}

}  // namespace wq::options
