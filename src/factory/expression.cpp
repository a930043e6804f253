#include "factory/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/units.h"

namespace wq::factory {

namespace {

constexpr int deepest = 100;  // parentheses, and minus signs in a row

// Recursive descent: one function a level of precedence. The first trouble stays; what follows is ignored.
class Parser {
  public:
    Parser(std::string_view text, const ValueOf& value) : text_(text), value_(value) {}

    Result<double> whole() {
        const double value = sum();
        blanks();
        if (trouble_.empty() && at_ < text_.size())
            trouble_ = "what is " + quote_for_message(text_.substr(at_)) + "?";
        if (trouble_.empty() && !std::isfinite(value)) trouble_ = "it is no finite number";
        if (trouble_.empty()) return value;
        return Error{ExitCode::bad_input, quote_for_message(text_) + ": " + trouble_};
    }

  private:
    double sum() {
        double value = product();
        while (trouble_.empty()) {
            if (take('+'))
                value += product();
            else if (take('-'))
                value -= product();
            else
                break;
        }
        return value;
    }

    double product() {
        double value = factor();
        while (trouble_.empty()) {
            if (take('*'))
                value *= factor();
            else if (take('/'))
                value /= factor();
            else
                break;
        }
        return value;
    }

    double factor() {
        if (++depth_ > deepest) return fail("it is nested too deeply");
        const double value = operand();
        --depth_;
        return value;
    }

    double operand() {
        if (take('-')) return -factor();
        if (take('(')) return inside();
        blanks();
        const std::size_t first = at_;
        const auto is_in_key = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
        };
        if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) {
            while (at_ < text_.size() && is_in_key(text_[at_])) ++at_;
            return named(std::string(text_.substr(first, at_ - first)));
        }
        return number();
    }

    double inside() {
        const double value = sum();
        return take(')') ? value : fail("a ')' is missing");
    }

    double number() {
        double value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) return fail("a number is missing");
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    double named(const std::string& name) {
        if ((name == "min" || name == "max") && take('(')) {
            double value = sum();
            while (trouble_.empty() && take(',')) {
                const double other = sum();
                value = name == "min" ? std::min(value, other) : std::max(value, other);
            }
            return take(')') ? value : fail("a ')' is missing");
        }
        const auto value = value_(name);
        return value ? *value : fail("there is no number " + quote_for_message(name));
    }

    void blanks() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    bool take(char what) {
        blanks();
        if (!trouble_.empty() || at_ >= text_.size() || text_[at_] != what) return false;
        ++at_;
        return true;
    }
    double fail(const std::string& trouble) {
        if (trouble_.empty()) trouble_ = trouble;
        return 0;
    }

    std::string_view text_;
    const ValueOf& value_;
    std::size_t at_ = 0;
    int depth_ = 0;
    std::string trouble_;
};

}  // namespace

Result<double> evaluate(std::string_view text, const ValueOf& value) {
    return Parser(text, value).whole();
}

}  // namespace wq::factory
