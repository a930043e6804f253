// Arithmetic of integers; nullopt: a division by zero, or a result that does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

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

// Expressions over a JSON record, for --where and --output: JX, CCTools' language (its manual:
// doc/manuals/jx), without what reaches outside the record (fetch, listdir) and without comprehensions.
//
// Values are those of JSON. A symbol is a member of the record. Operators, from strong to weak:
//   a[b] a[b:c] f(a)    -a    * / %    + -    == != < <= > >=    not, !    and, &&    or, ||
// `and` and `or` take booleans, and evaluate both sides. Values of unlike types are unequal, and have no
// order. Functions: len like keys values items range join ceil floor basename dirname. like(TEXT, REGEX) is
// true if the regular expression (RE2's syntax) matches the whole text. CCTools before 7.10 has the two the
// other way round: if only one is a literal, that is the regular expression.

// Members keep their order; an object with few of them takes half the memory of a sorted one.
struct JxNode;
class FlatRecord;
// The value of a member: somewhere, or put into `made`; nullptr: there is none.
using JxMembers = std::function<const Json*(const std::string& name, Json& made)>;

class JxExpression {
  public:
    // Strangers send expressions: what one may cost is limited. A step is an operator, an element, or 64
    // bytes.
    static constexpr std::size_t most_bytes = 4096;
    static constexpr int most_depth = 100;
    static constexpr int most_steps = 10'000;

    // Error bad_input: no expression; the message names the place: "column 7: ...".
    static Result<JxExpression> parse(std::string_view text);

    // Error bad_input: it has no value: a symbol that the record does not have, a wrong type, too many steps.
    Result<Json> value(const Json& record) const;
    // Whether the value is `true`; all else matches nothing.
    bool matches(const Json& record) const;
    bool matches(const JxMembers& members) const;
    bool matches_flat(const FlatRecord& record) const;
    // False: it surely does not match. Takes a tenth of the time.
    bool may_match_flat(const FlatRecord& record) const;
    // A server of CCTools may read like() the other way round.
    bool uses_like() const;

  private:
    explicit JxExpression(std::shared_ptr<const JxNode> root) : root_(std::move(root)) {}
    std::shared_ptr<const JxNode> root_;
};

}  // namespace wq::net::catalog
