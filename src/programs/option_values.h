// Converts option values in po::variables_map, and gives command line errors one form.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace wq::programs {

inline Error usage_error(const std::string& what) {
    return {ExitCode::usage, what + "; try --help"};
}

// Converts a whole number with these bounds.
inline auto between(std::int64_t low, std::int64_t high) {
    return [=](const std::string& text) { return parse_count(text, low, high); };
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

}  // namespace wq::programs
