// The tree of a JX expression: between the parser and the evaluation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "net/catalog/jx.h"

namespace re2 {
class RE2;
}

namespace wq::net::catalog {

enum class JxOp {
    literal,  // `value`
    symbol,   // `name`
    failure,  // error(...)
    array,    // of `parts`
    object,   // parts: key, value, key, value
    call,     // `name` of parts
    index,    // parts: what, at
    slice,    // parts: what, from, to; null: from the first, to the last
    negative,
    not_,
    // The following have two parts.
    and_,
    or_,
    multiply,
    divide,
    modulo,
    add,
    subtract,
    equal,
    unequal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
};

struct JxNode {
    JxOp op = JxOp::literal;
    Json value = {};
    std::string name = {};
    std::uint32_t hash = 0;  // hash_of_key() of a symbol's name, or of a literal text in quotes
    std::vector<JxNode> parts = {};
    std::shared_ptr<const re2::RE2> regex = {};  // of like() if it is a literal
};

// Error bad_input; see JxExpression::parse().
Result<JxNode> parse_jx(std::string_view text);

}  // namespace wq::net::catalog
