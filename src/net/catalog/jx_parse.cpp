#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "net/catalog/jx_node.h"
#include "net/catalog/record_scanner.h"

namespace wq::net::catalog {

namespace {

struct Operator {
    std::string_view text;
    JxOp op;
};
// From weak to strong; `not` stands between the second and the third level.
constexpr std::array<Operator, 2> alternatives{{{"||", JxOp::or_}, {"or", JxOp::or_}}};
constexpr std::array<Operator, 2> conditions{{{"&&", JxOp::and_}, {"and", JxOp::and_}}};
constexpr std::array<Operator, 6> comparisons{{{"==", JxOp::equal},
                                               {"!=", JxOp::unequal},
                                               {"<=", JxOp::less_or_equal},
                                               {">=", JxOp::greater_or_equal},
                                               {"<", JxOp::less},
                                               {">", JxOp::greater}}};
constexpr std::array<Operator, 2> sums{{{"+", JxOp::add}, {"-", JxOp::subtract}}};
constexpr std::array<Operator, 3> products{{{"*", JxOp::multiply}, {"/", JxOp::divide}, {"%", JxOp::modulo}}};

// JX has them, we have not.
constexpr std::array<std::string_view, 3> words_without_us{"for", "in", "if"};
constexpr std::array<std::string_view, 2> functions_without_us{"fetch", "listdir"};
constexpr std::array<std::string_view, 11> functions{"len",  "like", "keys",  "values",   "items",  "range",
                                                     "join", "ceil", "floor", "basename", "dirname"};

bool begins_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_of_word(char c) {
    return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

template <class List>
bool has(const List& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<JxNode> whole() {
        auto root = expression();
        if (!root) return root;
        skip_blanks();
        if (at_ < text_.size()) return wrong("unexpected '" + std::string(1, text_[at_]) + "'");
        return root;
    }

  private:
    using Rule = Result<JxNode> (Parser::*)();

    Result<JxNode> expression() { return one_deeper(&Parser::disjunction); }
    Result<JxNode> disjunction() { return left_to_right(alternatives, &Parser::conjunction); }
    Result<JxNode> conjunction() { return left_to_right(conditions, &Parser::negation); }
    Result<JxNode> negation() {
        skip_blanks();
        const bool negates = take("not") || (!text_.substr(at_).starts_with("!=") && take("!"));
        return negates ? of_one(JxOp::not_, &Parser::negation) : left_to_right(comparisons, &Parser::sum);
    }
    Result<JxNode> sum() { return left_to_right(sums, &Parser::product); }
    Result<JxNode> product() { return left_to_right(products, &Parser::sign); }
    Result<JxNode> sign() {
        skip_blanks();
        return take("-") ? of_one(JxOp::negative, &Parser::sign) : postfix();
    }

    Result<JxNode> of_one(JxOp op, Rule rule) {
        auto part = one_deeper(rule);
        if (!part) return part;
        JxNode node{.op = op};
        node.parts.push_back(std::move(*part));
        return node;
    }

    Result<JxNode> one_deeper(Rule rule) {
        if (depth_ == JxExpression::most_depth) return too_deep();
        ++depth_;
        auto node = (this->*rule)();
        --depth_;
        return node;
    }
    Error too_deep() const {
        return wrong("more than " + std::to_string(JxExpression::most_depth) + " levels");
    }

    template <class Level>
    Result<JxNode> left_to_right(const Level& level, Rule stronger) {
        auto left = (this->*stronger)();
        while (left) {
            const auto op = operator_of(level);
            if (!op) break;
            auto right = (this->*stronger)();
            if (!right) return right;
            JxNode node{.op = *op};
            node.parts.push_back(std::move(*left));
            node.parts.push_back(std::move(*right));
            left = std::move(node);
        }
        return left;
    }

    template <class Level>
    std::optional<JxOp> operator_of(const Level& level) {
        skip_blanks();
        for (const Operator& one : level)
            if (take(one.text)) return one.op;
        return std::nullopt;
    }

    Result<JxNode> postfix() {
        auto node = atom();
        int deeper = 0;
        for (skip_blanks(); node && take("["); skip_blanks()) {
            if (depth_ + ++deeper > JxExpression::most_depth) return too_deep();
            node = subscript(std::move(*node));
        }
        return node;
    }

    Result<JxNode> subscript(JxNode what) {
        JxNode node{.op = JxOp::index};
        node.parts.push_back(std::move(what));
        const auto bound = [&](std::string_view end) -> Status {
            skip_blanks();
            if (text_.substr(at_).starts_with(end)) return node.parts.emplace_back(), success();
            auto part = expression();
            if (!part) return part.error();
            node.parts.push_back(std::move(*part));
            skip_blanks();
            return success();
        };
        if (const Status from = bound(":"); !from) return from.error();
        if (take(":")) {
            node.op = JxOp::slice;
            if (const Status to = bound("]"); !to) return to.error();
        }
        if (!take("]")) return wrong("']' is missing");
        return node;
    }

    Result<JxNode> atom() {
        skip_blanks();
        if (at_ == text_.size()) return wrong("a value is missing at the end");
        const char c = text_[at_];
        if (c == '"') return text();
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
        if (begins_word(c)) return word();
        if (take("(")) return in_brackets();
        if (take("[")) return list(JxOp::array, "]");
        if (take("{")) return object();
        return wrong("unexpected '" + std::string(1, c) + "'");
    }

    Result<JxNode> in_brackets() {
        auto inner = expression();
        if (!inner) return inner;
        skip_blanks();
        if (!take(")")) return wrong("')' is missing");
        return inner;
    }

    Result<JxNode> list(JxOp op, std::string_view end) {
        JxNode node{.op = op};
        skip_blanks();
        while (!take(end)) {
            if (!node.parts.empty() && !take(","))
                return wrong("',' or '" + std::string(end) + "' is missing");
            auto part = expression();
            if (!part) return part;
            node.parts.push_back(std::move(*part));
            skip_blanks();
        }
        return node;
    }

    Result<JxNode> object() {
        JxNode node{.op = JxOp::object};
        skip_blanks();
        while (!take("}")) {
            if (!node.parts.empty() && !take(",")) return wrong("',' or '}' is missing");
            for (const std::string_view after : {":", ""}) {
                auto part = expression();
                if (!part) return part;
                node.parts.push_back(std::move(*part));
                skip_blanks();
                if (!after.empty() && !take(after)) return wrong("':' is missing");
            }
        }
        return node;
    }

    Result<JxNode> text() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2U : 1U;
        if (end >= text_.size()) return wrong("the text has no end");
        JxNode node{.value = Json::parse(text_.substr(at_, end + 1 - at_), nullptr, false)};
        if (node.value.is_discarded()) return wrong("no text as in JSON: UTF-8, and escapes such as \\n");
        at_ = end + 1;
        node.hash = hash_of_key('"' + node.value.get_ref<const std::string&>() + '"');
        return node;
    }

    Result<JxNode> number() {
        std::size_t end = at_;
        const auto goes_on = [&](char c) {
            const char before = end > at_ ? text_[end - 1] : '0';
            return is_of_word(c) || c == '.' || ((c == '-' || c == '+') && (before == 'e' || before == 'E'));
        };
        while (end < text_.size() && goes_on(text_[end])) ++end;
        JxNode node{.value = Json::parse(text_.substr(at_, end - at_), nullptr, false)};
        if (node.value.is_discarded()) return wrong("no number as in JSON");
        at_ = end;
        return node;
    }

    Result<JxNode> word() {
        std::size_t end = at_;
        while (end < text_.size() && is_of_word(text_[end])) ++end;
        const std::string_view word = text_.substr(at_, end - at_);
        if (has(words_without_us, word))
            return wrong("'" + std::string(word) + "' is not supported: comprehensions are left out");
        if (word == "and" || word == "or" || word == "not") return wrong("a value is missing");
        const std::size_t begin = std::exchange(at_, end);
        if (word == "null") return JxNode{};
        if (word == "true" || word == "false") return JxNode{.value = word == "true"};
        skip_blanks();
        if (take("(")) return call(word, begin);
        if (word == "error" && take("{")) {
            auto what = object();
            if (!what) return what;
            return JxNode{.op = JxOp::failure};
        }
        return JxNode{.op = JxOp::symbol, .name = std::string(word), .hash = hash_of_key(word)};
    }

    Result<JxNode> call(std::string_view name, std::size_t begin) {
        if (!has(functions, name) && name != "error") {
            at_ = begin;
            return wrong(std::string(name) + (has(functions_without_us, name)
                                                  ? "() is left out: it reaches beyond the record"
                                                  : "(): no such function"));
        }
        auto node = list(name == "error" ? JxOp::failure : JxOp::call, ")");
        if (node) node->name = name;
        return node;
    }

    // A word must end where it ends.
    bool take(std::string_view token) {
        if (!text_.substr(at_).starts_with(token)) return false;
        const std::size_t end = at_ + token.size();
        if (begins_word(token.front()) && end < text_.size() && is_of_word(text_[end])) return false;
        at_ = end;
        return true;
    }

    void skip_blanks() {
        while (at_ < text_.size()) {
            if (text_[at_] == '#')
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
                ++at_;
            else
                return;
        }
    }

    Error wrong(const std::string& what) const {
        return {ExitCode::bad_input, "column " + std::to_string(at_ + 1) + ": " + what};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

}  // namespace

Result<JxNode> parse_jx(std::string_view text) {
    if (text.size() > JxExpression::most_bytes)
        return Error{ExitCode::bad_input,
                     "an expression has at most " + std::to_string(JxExpression::most_bytes) + " bytes"};
    return Parser(text).whole();
}

}  // namespace wq::net::catalog
