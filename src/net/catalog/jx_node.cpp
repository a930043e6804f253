// Expressions over flat records. Most records that a query looks at do not match, and most of these fail at
// a comparison of a member with a literal: that is seen in the record's text, without making values.

#include "net/catalog/jx_node.h"
#include "base/json.h"

#include <re2/re2.h>
#include <optional>

#include "base/text.h"
#include "net/catalog/flat_record.h"

namespace wq::net::catalog {

namespace {

constexpr int most_looked_into = 200;  // levels; below, everything may be true

bool is_text(std::string_view json) {
    return json.size() >= 2 && json.front() == '"';
}
// Without escapes, the text in JSON is the text.
std::optional<std::string_view> plain_text_of(std::string_view json) {
    if (!is_text(json) || json.find('\\') != std::string_view::npos) return std::nullopt;
    return json.substr(1, json.size() - 2);
}

bool compares(JxOp op, std::int64_t a, std::int64_t b) {
    switch (op) {
        case JxOp::equal:
            return a == b;
        case JxOp::unequal:
            return a != b;
        case JxOp::less:
            return a < b;
        case JxOp::less_or_equal:
            return a <= b;
        case JxOp::greater:
            return a > b;
        default:
            return a >= b;
    }
}

JxOp turned(JxOp op) {
    switch (op) {
        case JxOp::less:
            return JxOp::greater;
        case JxOp::less_or_equal:
            return JxOp::greater_or_equal;
        case JxOp::greater:
            return JxOp::less;
        case JxOp::greater_or_equal:
            return JxOp::less_or_equal;
        default:
            return op;
    }
}

bool comparison_may_be_true(JxOp op, std::string_view json, const Json& literal) {
    if (literal.is_string()) {
        if (op != JxOp::equal) return true;
        if (!is_text(json)) return false;
        const auto text = plain_text_of(json);
        return !text || *text == literal.text();
    }
    if (!literal.is_number_integer()) return true;
    if (is_text(json)) return op == JxOp::unequal;  // a text and a number have no order
    const auto integer = number_in<std::int64_t>(json);
    return !integer || compares(op, *integer, literal.integer());
}

bool may_be_true(const JxNode& node, const FlatRecord& record, int level);

bool like_may_be_true(const JxNode& node, const FlatRecord& record) {
    if (!node.regex || !node.regex->ok() || node.parts.size() != 2) return true;
    const JxNode& subject = node.parts[node.parts[0].op == JxOp::symbol ? 0 : 1];
    if (subject.op != JxOp::symbol) return true;
    const std::string_view json = record.member(subject.name, subject.hash);
    if (!is_text(json)) return false;
    const auto text = plain_text_of(json);
    return !text || re2::RE2::FullMatch(re2::StringPiece(text->data(), text->size()), *node.regex);
}

bool two_may_be_true(const JxNode& node, const FlatRecord& record, int level) {
    const JxNode& left = node.parts[0];
    const JxNode& right = node.parts[1];
    switch (node.op) {
        case JxOp::and_:
            return may_be_true(left, record, level + 1) && may_be_true(right, record, level + 1);
        case JxOp::or_:
            return may_be_true(left, record, level + 1) || may_be_true(right, record, level + 1);
        case JxOp::equal:
        case JxOp::unequal:
        case JxOp::less:
        case JxOp::less_or_equal:
        case JxOp::greater:
        case JxOp::greater_or_equal:
            break;
        default:
            return true;
    }
    const bool symbol_first = left.op == JxOp::symbol;
    const JxNode& symbol = symbol_first ? left : right;
    const JxNode& literal = symbol_first ? right : left;
    if (symbol.op != JxOp::symbol || literal.op != JxOp::literal) return true;
    if (node.op == JxOp::equal && literal.hash != 0 && record.is_surely_not(symbol.name, literal.hash))
        return false;
    const std::string_view json = record.member(symbol.name, symbol.hash);
    return !json.empty() &&
           comparison_may_be_true(symbol_first ? node.op : turned(node.op), json, literal.value);
}

// False: its value is surely not `true`.
bool may_be_true(const JxNode& node, const FlatRecord& record, int level) {
    if (level > most_looked_into) return true;
    switch (node.op) {
        case JxOp::literal:
            return node.value == true;
        case JxOp::symbol:
            return record.member(node.name, node.hash) == "true";
        case JxOp::failure:
            return false;
        case JxOp::call:
            return node.name != "like" || like_may_be_true(node, record);
        default:
            return node.op < JxOp::and_ || two_may_be_true(node, record, level);
    }
}

}  // namespace

bool JxExpression::may_match_flat(const FlatRecord& record) const {
    return may_be_true(*root_, record, 0);
}

bool JxExpression::matches_flat(const FlatRecord& record) const {
    if (!may_match_flat(record)) return false;
    return matches([&record](const std::string& name, Json& made) {
        return record.value_of(name, made) ? &made : nullptr;
    });
}

}  // namespace wq::net::catalog
