#include "runtask/terminal.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/units.h"

namespace wq::runtask {

namespace {

constexpr std::size_t most_of_a_line = 2000;

}  // namespace

bool Terminal::has_reader() const {
    return ::isatty(STDERR_FILENO) == 1;
}

// Flushed, because what lines print goes to the same place by another way.
void Terminal::line_begins(marked_list::WorkerId worker, const std::string& directory,
                           const std::string& line) const {
    std::printf("(worker %u)-> %s> %s\n", worker, directory.c_str(),
                line_for_message(line, most_of_a_line).c_str());
    std::fflush(stdout);
}

void Terminal::line_ended(marked_list::WorkerId worker, std::uint64_t number, const std::string& mark) const {
    std::printf("(worker %u)<- line %llu %s\n", worker, static_cast<unsigned long long>(number),
                mark.c_str());
    std::fflush(stdout);
}

void Terminal::output(int file) const {
    std::array<char, 65536> buffer;
    off_t at = 0;
    for (ssize_t got = 0; (got = ::pread(file, buffer.data(), buffer.size(), at)) > 0; at += got)
        std::fwrite(buffer.data(), 1, static_cast<std::size_t>(got), stdout);
    std::fflush(stdout);
}

void Terminal::say(const std::string& text) const {
    std::fprintf(stderr, "runtask: %s\n", text.c_str());
}

}  // namespace wq::runtask
