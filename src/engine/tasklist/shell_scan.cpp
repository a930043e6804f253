#include "engine/tasklist/shell_scan.h"

#include <vector>

namespace wq::engine::tasklist {

namespace {

// Scans with a stack of the shell's nested contexts. It need not be exact: where it fails (a `case` inside
// `$( )`) it treats the rest as masked text, and the caller then finds neither comment nor assignment.
class Scanner {
  public:
    explicit Scanner(std::string_view line) : line_(line) { scan_.plain.reserve(line.size()); }

    ShellScan run() {
        while (at_ < line_.size() && scan_.remark == std::string_view::npos) step();
        return std::move(scan_);
    }

  private:
    enum class Context : char { double_quote, paren, brace, backtick };

    bool in(Context context) const { return !stack_.empty() && stack_.back() == context; }

    char around() const {
        constexpr std::string_view names = "\"({`";
        return stack_.empty() ? ' ' : names[static_cast<std::size_t>(stack_.back())];
    }

    void take(std::size_t count, bool plain = false) { take(count, around(), plain); }

    void take(std::size_t count, char around, bool plain = false) {
        for (; count > 0 && at_ < line_.size(); --count, ++at_) {
            scan_.plain += plain ? line_[at_] : masked;
            scan_.around += around;
        }
    }

    void open(Context context, std::size_t width) {
        stack_.push_back(context);
        take(width);
    }

    void close() {
        take(1);
        stack_.pop_back();
    }

    void toggle(Context context) { in(context) ? close() : open(context, 1); }

    void single_quoted(std::size_t opener, bool escapes) {
        std::size_t end = at_ + opener;
        while (end < line_.size() && line_[end] != '\'') end += escapes && line_[end] == '\\' ? 2 : 1;
        take(end + 1 - at_, escapes ? '$' : '\'');
    }

    bool at_word_begin() const {
        if (scan_.plain.empty()) return true;
        return std::string_view(" \t;&|()<>").find(scan_.plain.back()) != std::string_view::npos;
    }

    void step() {
        const char c = line_[at_];
        const std::string_view rest = line_.substr(at_);
        const bool quoted = in(Context::double_quote);
        if (c == '\\') return take(2, '\\');
        if (c == '"') return toggle(Context::double_quote);
        if (c == '`') return toggle(Context::backtick);
        if (rest.starts_with("$(")) return open(Context::paren, 2);
        if (rest.starts_with("${")) return open(Context::brace, 2);
        if (!quoted && c == '\'') return single_quoted(1, false);
        if (!quoted && rest.starts_with("$'")) return single_quoted(2, true);
        if (in(Context::paren) && c == '(') return open(Context::paren, 1);
        if (in(Context::paren) && c == ')') return close();
        if (in(Context::brace) && c == '}') return close();
        if (stack_.empty() && c == '#' && at_word_begin()) {
            scan_.remark = at_;
            return;
        }
        take(1, stack_.empty());
    }

    std::string_view line_;
    std::size_t at_ = 0;
    std::vector<Context> stack_;
    ShellScan scan_;
};

}  // namespace

ShellScan scan_shell(std::string_view line) {
    return Scanner(line).run();
}

bool is_escaped(std::string_view line, std::size_t at) {
    std::size_t backslashes = 0;
    while (backslashes < at && line[at - backslashes - 1] == '\\') ++backslashes;
    return backslashes % 2 == 1;
}

}  // namespace wq::engine::tasklist
