// Converts option values, and gives command line errors one form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "programs/command_line.h"

namespace wq::programs {

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
class Taker {
  public:
    explicit Taker(const Given& given) : given_(given) {}

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

}  // namespace wq::programs
