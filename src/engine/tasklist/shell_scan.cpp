#include "engine/tasklist/shell_scan.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/tasklist/sources.h"

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

    void take(std::size_t count) { take(count, around()); }

    void take(std::size_t count, char around) {
        for (; count > 0 && at_ < line_.size(); --count, ++at_) {
            scan_.plain += masked;
            scan_.around += around;
        }
    }

    void take_plain() {
        scan_.plain += line_[at_++];
        scan_.around += around();
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

    void single_quoted(std::string_view opener) {
        const bool escapes = opener == "$'";
        std::size_t end = at_ + opener.size();
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
        if (!quoted && c == '\'') return single_quoted("'");
        if (!quoted && rest.starts_with("$'")) return single_quoted("$'");
        if (in(Context::paren) && c == '(') return open(Context::paren, 1);
        if (in(Context::paren) && c == ')') return close();
        if (in(Context::brace) && c == '}') return close();
        if (stack_.empty() && c == '#' && at_word_begin()) {
            scan_.remark = at_;
            return;
        }
        if (stack_.empty())
            take_plain();
        else
            take(1);
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

namespace {

enum Use : std::uint8_t {
    in_word = 1,     // literal anywhere in a word other than the command
    in_command = 2,  // literal in the command word too; others have a meaning there: `a=b` is an assignment,
                     // `%1` a job
    blank = 4,
};

// A byte without a bit needs a shell. That includes bytes of UTF-8: in an 8-bit locale a shell may treat one
// as a blank.
constexpr std::array<std::uint8_t, 256> make_uses() {
    std::array<std::uint8_t, 256> uses{};
    for (unsigned c = '0'; c <= '9'; ++c) uses[c] = in_word | in_command;
    for (unsigned c = 'a'; c <= 'z'; ++c) uses[c] = in_word | in_command;
    for (unsigned c = 'A'; c <= 'Z'; ++c) uses[c] = in_word | in_command;
    for (const char c : std::string_view("_-./:,+@"))
        uses[static_cast<unsigned char>(c)] = in_word | in_command;
    for (const char c : std::string_view("%=")) uses[static_cast<unsigned char>(c)] = in_word;
    for (const char c : std::string_view(" \t")) uses[static_cast<unsigned char>(c)] = blank;
    return uses;
}
constexpr auto uses = make_uses();

bool has_use(char c, unsigned wanted) {
    return (uses[static_cast<unsigned char>(c)] & wanted) != 0;
}

// Words that a shell does not look up in PATH: reserved words and builtins of bash, dash, ksh and zsh,
// including those whose program behaves differently (pwd, kill, printf, test) or is often missing (time), and
// the functions by which clusters load software (module, ml). Sorted.
constexpr std::array<std::string_view, 96> shell_names{
    ".",       ":",        "alias",     "autoload",  "bg",       "bind",    "bindkey", "break",
    "builtin", "caller",   "case",      "cd",        "chdir",    "command", "compgen", "complete",
    "compopt", "continue", "coproc",    "declare",   "dirs",     "disable", "disown",  "do",
    "done",    "elif",     "else",      "emulate",   "enable",   "end",     "esac",    "eval",
    "exec",    "exit",     "export",    "fc",        "fg",       "fi",      "float",   "for",
    "foreach", "function", "functions", "getopts",   "hash",     "help",    "history", "if",
    "in",      "integer",  "jobs",      "kill",      "let",      "limit",   "local",   "logout",
    "mapfile", "ml",       "module",    "nocorrect", "noglob",   "popd",    "print",   "printf",
    "pushd",   "pwd",      "read",      "readarray", "readonly", "rehash",  "repeat",  "return",
    "select",  "set",      "setopt",    "shift",     "shopt",    "source",  "suspend", "test",
    "then",    "time",     "times",     "trap",      "type",     "typeset", "ulimit",  "umask",
    "unalias", "unlimit",  "unset",     "unsetopt",  "until",    "wait",    "whence",  "while",
};
static_assert(std::ranges::is_sorted(shell_names));
constexpr std::size_t longest_name = 9;

bool is_shell_name(std::string_view word) {
    return word.size() <= longest_name && std::ranges::binary_search(shell_names, word);
}

// The programs echo, true and false behave like the builtins, except with options.
bool may_differ(std::string_view command, std::string_view arguments) {
    if (command == "echo") return arguments.starts_with('-');
    return (command == "true" || command == "false") && !arguments.empty();
}

std::string_view skip_blanks(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && has_use(text[at], blank)) ++at;
    return text.substr(at);
}

std::size_t word_size(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && !has_use(text[at], blank)) ++at;
    return at;
}

std::string in_quotes(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted += '\'';
}

}  // namespace

bool needs_shell(std::string_view line) {
    const std::string_view text = skip_blanks(line);
    const std::string_view command = text.substr(0, word_size(text));
    const std::string_view arguments = skip_blanks(text.substr(command.size()));
    if (command.empty()) return true;
    for (const char c : command) {
        if (!has_use(c, in_command)) return true;
    }
    for (const char c : arguments) {
        if (!has_use(c, in_word | blank)) return true;
    }
    return is_shell_name(command) || may_differ(command, arguments);
}

std::vector<std::string> split_words(std::string_view line) {
    std::vector<std::string> words;
    for (std::string_view rest = skip_blanks(line); !rest.empty(); rest = skip_blanks(rest)) {
        const std::size_t size = word_size(rest);
        words.emplace_back(rest.substr(0, size));
        rest.remove_prefix(size);
    }
    return words;
}

std::string shell_quote(std::string_view text) {
    const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) { return has_use(c, in_word); });
    return plain ? std::string(text) : in_quotes(text);
}

std::string shell_quote_command(std::string_view word) {
    const bool plain =
        !word.empty() && std::ranges::all_of(word, [](char c) { return has_use(c, in_command); });
    return plain && !is_shell_name(word) ? std::string(word) : in_quotes(word);
}

namespace {

constexpr std::string_view place = "{}";

std::string fill(std::string_view text, std::string_view value) {
    std::string filled;
    filled.reserve(text.size() + value.size());
    for (std::size_t at = text.find(place); at != std::string_view::npos; at = text.find(place)) {
        filled.append(text.substr(0, at)).append(value);
        text.remove_prefix(at + place.size());
    }
    return filled.append(text);
}

// Within quotes, closes them before the value, which is quoted itself, and reopens them after it.
std::string quoted_within(std::string_view value, char around) {
    const std::string quoted = shell_quote(value);
    if (around == '"') return '"' + quoted + '"';
    if (around == '\'') return '\'' + quoted + '\'';
    if (around == '$') return '\'' + quoted + "$'";
    return quoted;
}

}  // namespace

CommandTemplate::CommandTemplate(std::vector<std::string> words) : words_(std::move(words)) {
    if (words_.size() != 1) return;
    const std::string& line = words_.front();
    const ShellScan scan = scan_shell(line);
    for (std::size_t at = line.find(place); at != std::string::npos;
         at = line.find(place, at + place.size())) {
        const char around = at < scan.around.size() ? scan.around[at] : ' ';
        if (around != '\\') places_.push_back({at, around});
    }
}

Status CommandTemplate::check() const {
    for (const Placeholder& found : places_)
        if (found.around == '`' || found.around == '{')
            return Error{ExitCode::usage, std::string("{} cannot be inside ") +
                                              (found.around == '`' ? "backticks; write $( )" : "${ }") +
                                              ": " + words_.front()};
    return success();
}

std::string CommandTemplate::fill_line(std::string_view value) const {
    const std::string_view line = words_.front();
    std::string filled;
    std::size_t from = 0;
    for (const Placeholder& found : places_) {
        filled.append(line.substr(from, found.at - from)).append(quoted_within(value, found.around));
        from = found.at + place.size();
    }
    return filled.append(line.substr(from));
}

std::string CommandTemplate::render(std::string_view value) const {
    bool filled = !places_.empty();
    std::string line;
    if (words_.size() == 1) {
        line = fill_line(value);
    } else {
        for (const std::string& word : words_) {
            filled = filled || word.find(place) != std::string::npos;
            const std::string text = fill(word, value);
            line += line.empty() ? shell_quote_command(text) : " " + shell_quote(text);
        }
    }
    if (filled) return line;
    return line.append(line.empty() ? "" : " ").append(shell_quote(value));
}

std::string CommandTemplate::describe() const {
    std::string text;
    for (const std::string& word : words_) text.append(text.empty() ? "" : " ").append(shell_quote(word));
    return text;
}

}  // namespace wq::engine::tasklist
