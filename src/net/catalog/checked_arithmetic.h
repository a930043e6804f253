// Arithmetic of integers; nullopt: a division by zero, or a result that does not fit.
#pragma once

#include <cstdint>
#include <optional>

namespace wq::net::catalog {

inline std::optional<std::int64_t> added(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}
inline std::optional<std::int64_t> subtracted(std::int64_t a, std::int64_t b) {
    std::int64_t rest = 0;
    return __builtin_sub_overflow(a, b, &rest) ? std::nullopt : std::optional(rest);
}
inline std::optional<std::int64_t> multiplied(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}
inline std::optional<std::int64_t> divided(std::int64_t a, std::int64_t b) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
    return a / b;
}
inline std::optional<std::int64_t> remainder(std::int64_t a, std::int64_t b) {
    if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<std::int64_t>(0);
    return a % b;
}

}  // namespace wq::net::catalog
