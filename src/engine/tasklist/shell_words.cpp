#include <algorithm>
#include <array>

#include "engine/tasklist/sources.h"

namespace wq::engine::tasklist {

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

}  // namespace wq::engine::tasklist
