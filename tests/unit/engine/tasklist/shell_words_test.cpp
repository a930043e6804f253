#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "engine/tasklist/sources.h"
#include "run_shell.h"

namespace {

using namespace wq::engine::tasklist;
using namespace wq::engine::tasklist::testing;
using ::testing::HasSubstr;
using wq::ExitCode;
using Words = std::vector<std::string>;

TEST(NeedsShell, PlainLinesAreSplitAndExecuted) {
    const std::pair<const char*, Words> cases[] = {
        {"gzip -9 a.txt", {"gzip", "-9", "a.txt"}},
        {"  ./run.sh\t x  y ", {"./run.sh", "x", "y"}},
        {"dd if=/dev/zero of=/tmp/x bs=1M", {"dd", "if=/dev/zero", "of=/tmp/x", "bs=1M"}},
        {"sleep 0.1", {"sleep", "0.1"}},
        {"true", {"true"}},
        {"false", {"false"}},
        {"echo hello", {"echo", "hello"}},
        {"echo", {"echo"}},
        {"date +%s", {"date", "+%s"}},
        {"/bin/kill -l", {"/bin/kill", "-l"}},
        {"g++ -c a.cpp", {"g++", "-c", "a.cpp"}},
        {"a:b@c,d x", {"a:b@c,d", "x"}},
        {"env A=1 cmd", {"env", "A=1", "cmd"}},
    };
    for (const auto& [line, words] : cases) {
        EXPECT_FALSE(needs_shell(line)) << line;
        EXPECT_EQ(split_words(line), words);
    }
}

TEST(NeedsShell, AllElseNeedsOne) {
    for (const char* line :
         {"",           " \t",         "echo 'a b'",  "echo \"a\"", "echo a\\ b",
          "echo $HOME", "echo `date`", "a | b",       "a; b",       "a & b",
          "a && b",     "a > f",       "a < f",       "a 2>&1",     "(a)",
          "{ a; }",     "echo *.txt",  "echo a?",     "echo [ab]",  "echo {a,b}",
          "echo ~",     "a # b",       "echo a#b",    "! a",        "A=1 cmd",
          "A=1",        "A+=1",        "%1",          "a^b",        "echo gr\xC3\xBC\xC3\x9F",
          "a\nb",       "a\rb",        "a\x0b b",     "cd /x",      "export A",
          "source x",   ". x",         ": x",         "exit 3",     "exec a",
          "eval a",     "set -e",      "ulimit -n",   "umask 022",  "type a",
          "wait",       "trap x",      "time a",      "if a",       "module load x",
          "ml gcc",     "test a",      "[ a ]",       "kill 1",     "printf x",
          "pwd",        "echo -e a",   "true --help", "coproc a"}) {
        EXPECT_TRUE(needs_shell(line)) << line;
    }
}

// Only builtins whose program does the same are missing.
TEST(NeedsShell, KnowsEveryBuiltinAndReservedWordOfBash) {
    if (!have_bash()) GTEST_SKIP() << "no bash on this machine";
    std::istringstream names(run_script("bash", "compgen -b; compgen -k"));
    std::set<std::string> executed;
    std::size_t count = 0;
    for (std::string name; names >> name; ++count) {
        if (!needs_shell(name)) executed.insert(name);
    }
    EXPECT_GT(count, 60U);
    EXPECT_EQ(executed, (std::set<std::string>{"echo", "false", "true"}));
}

// Gives lines that need no shell to one: it must see the words that split_words returns.
void expect_same_words(const std::string& shell) {
    static const std::string alphabet = "ab0_-./:,+@%= \t=%~#$'\"\\*?[]{}()|&;<>!^\n\x80\xC3\xA0";
    std::mt19937 random(21);
    std::string script = "words() { printf '%s\\n' \"$#\" \"$@\"; }\n";
    std::string expected;
    std::size_t plain = 0;
    for (int round = 0; round < 30000; ++round) {
        // Mostly harmless bytes, otherwise hardly a line would need no shell.
        std::string line = "a";
        for (std::size_t left = random() % 12; left > 0; --left) {
            line += alphabet[random() % (random() % 20 == 0 ? alphabet.size() : 16)];
        }
        if (needs_shell(line)) continue;
        ++plain;
        script += "words " + line + "\n";
        const Words words = split_words(line);
        expected += std::to_string(words.size()) + "\n";
        for (const std::string& word : words) expected += word + "\n";
    }
    EXPECT_GT(plain, 10000U);
    EXPECT_EQ(run_script(shell, script), expected);
}

TEST(NeedsShell, AShellSplitsSuchLinesAlike) {
    expect_same_words("/bin/sh");
}

TEST(NeedsShell, BashSplitsSuchLinesAlike) {
    if (!have_bash()) GTEST_SKIP() << "no bash on this machine";
    expect_same_words("bash");
}

std::string random_bytes(std::mt19937& random, std::size_t most) {
    std::string text(random() % (most + 1), ' ');
    for (char& c : text) c = static_cast<char>(1 + random() % 255);
    return text;
}

void expect_round_trip(const std::string& shell) {
    std::mt19937 random(22);
    std::string script;
    std::string expected;
    for (int round = 0; round < 3000; ++round) {
        const std::string text = random_bytes(random, 40);
        script += "printf '%s\\0' " + shell_quote(text) + "\n";
        expected += text + '\0';
    }
    EXPECT_EQ(run_script(shell, script), expected);
}

TEST(ShellQuote, AnyBytesComeBackFromSh) {
    expect_round_trip("LC_ALL=C /bin/sh");
}

TEST(ShellQuote, AnyBytesComeBackFromBash) {
    if (!have_bash()) GTEST_SKIP() << "no bash on this machine";
    expect_round_trip("LC_ALL=C bash");
}

TEST(ShellQuote, QuotesOnlyWhatNeedsIt) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "''"},       {"a.txt", "a.txt"},     {"if=x", "if=x"}, {"+%s", "+%s"},
        {"a b", "'a b'"}, {"it's", "'it'\\''s'"}, {"~", "'~'"},     {"$x", "'$x'"},
        {"-n", "-n"},     {"#", "'#'"},           {"if", "if"},     {"a\nb", "'a\nb'"},
        {"'", "''\\'''"},
    };
    for (const auto& [text, quoted] : cases) EXPECT_EQ(shell_quote(text), quoted);
    const std::pair<const char*, const char*> commands[] = {
        {"gzip", "gzip"}, {"if", "'if'"}, {"A=1", "'A=1'"}, {"%1", "'%1'"}, {"", "''"}, {"./a b", "'./a b'"}};
    for (const auto& [text, quoted] : commands) EXPECT_EQ(shell_quote_command(text), quoted);
}

TEST(ShellQuote, QuotedPlainWordsNeedNoShell) {
    EXPECT_FALSE(needs_shell("gzip " + shell_quote("/usr/share/doc/a-b_c.txt")));
}

TEST(CommandTemplate, FillsWordsAndShellLines) {
    struct Case {
        Words words;
        const char* value;
        const char* line;
    };
    const Case cases[] = {
        {{"gzip", "{}"}, "a.txt", "gzip a.txt"},
        {{"gzip", "{}"}, "a b", "gzip 'a b'"},
        {{"cp", "{}", "{}.bak"}, "a b", "cp 'a b' 'a b.bak'"},
        {{"echo", "$HOME", "{}"}, "7", "echo '$HOME' 7"},
        {{"gzip", "-9"}, "x", "gzip -9 x"},
        {{"{}"}, "run me", "'run me'"},
        {{"wc -l < {} > {}.n"}, "a b", "wc -l < 'a b' > 'a b'.n"},
        {{"wc -l <"}, "a b", "wc -l < 'a b'"},
        {{"echo {}{}"}, "x;y", "echo 'x;y''x;y'"},
        {{"echo \"got {}\""}, "7", "echo \"got \"7\"\""},
        {{"echo \"{}\""}, "$(rm x)", "echo \"\"'$(rm x)'\"\""},
        {{"echo '{}'"}, "a b", "echo '''a b'''"},
        {{"x=$(wc -l < {})"}, "a b", "x=$(wc -l < 'a b')"},
        {{"find {} -exec ls \\{} ;"}, "a b", "find 'a b' -exec ls \\{} ;"},
        {{"printf '%s' {}"}, "{}", "printf '%s' '{}'"},
        {{"a", "{}"}, "{}", "a '{}'"},
        {{"a", "{}"}, "", "a ''"},
        {{"{}", "x"}, "if", "'if' x"},
        {{"A=1", "x"}, "7", "'A=1' x 7"},
        {{"", "x"}, "7", "'' x 7"},
        {{}, "x", "x"},
    };
    for (const auto& test : cases) EXPECT_EQ(CommandTemplate(test.words).render(test.value), test.line);
}

TEST(CommandTemplate, RefusesPlacesWhereNoQuotingHolds) {
    EXPECT_THAT(CommandTemplate({"echo `wc {}`"}).check().error().message, HasSubstr("write $( )"));
    EXPECT_EQ(CommandTemplate({"echo ${x:-{}}"}).check().error().code, ExitCode::usage);
    EXPECT_TRUE(CommandTemplate({"echo \"$(wc \"{}\")\" '{}' {}"}).check());
    EXPECT_TRUE(CommandTemplate({"echo", "`wc {}`"}).check());  // words are quoted, whatever they contain
}

// Whatever encloses `{}`, a real shell gets the value unchanged.
TEST(CommandTemplate, ValuesComeBackFromWithinEveryQuoting) {
    const std::vector<std::string> lines = {"printf '%s\\0' \"{}\"",
                                            "printf '%s\\0' '{}'",
                                            "printf '%s\\0' $'{}'",
                                            "printf '%s\\0' {}",
                                            "printf '%s\\0' \"$(printf %s \"{}\"; echo .)\"",
                                            "printf '%s\\0' $(:; printf %s \"{}\" >/dev/null)\"{}\""};
    std::mt19937 random(29);
    for (const std::string& line : lines) {
        std::string script;
        std::string expected;
        for (int round = 0; round < 200; ++round) {
            std::string value = random_bytes(random, 20);
            std::erase(value, '\n');  // a value has one line
            script += CommandTemplate({line}).render(value) + "\n";
            expected += value + (line.find("echo .") != std::string::npos ? "." : "") + '\0';
        }
        EXPECT_EQ(run_script("LC_ALL=C /bin/bash", script), expected) << line;
    }
}

TEST(CommandTemplate, DescriptionsTellTemplatesApart) {
    EXPECT_EQ(CommandTemplate({"gzip", "-9", "{}"}).describe(), "gzip -9 '{}'");
    EXPECT_EQ(CommandTemplate({"gzip -9 {}"}).describe(), "'gzip -9 {}'");
    EXPECT_NE(CommandTemplate({"a", "b c"}).describe(), CommandTemplate({"a", "b", "c"}).describe());
    EXPECT_NE(CommandTemplate({"a", ""}).describe(), CommandTemplate({"a"}).describe());
}

// Rendered templates through a real shell: every word arrives unchanged, with the value in its place.
TEST(CommandTemplate, RenderedWordsComeBackFromSh) {
    std::mt19937 random(23);
    std::string script;
    std::string expected;
    for (int round = 0; round < 1500; ++round) {
        const std::string value = random_bytes(random, 20);
        const std::string before = random_bytes(random, 8);
        const std::string after = random_bytes(random, 8);
        if (before.find("{}") != std::string::npos || after.find("{}") != std::string::npos) continue;
        script += CommandTemplate({"printf", "%s\\0", before + "{}" + after, after}).render(value) + "\n";
        expected += before + value + after + '\0' + after + '\0';
        script += CommandTemplate({"printf '%s\\0' {}"}).render(value) + "\n";
        expected += value + '\0';
    }
    EXPECT_EQ(run_script("LC_ALL=C /bin/sh", script), expected);
}

}  // namespace
