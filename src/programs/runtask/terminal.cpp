#include "programs/runtask/terminal.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/units.h"

namespace wq::programs::runtask {

namespace {

constexpr std::size_t most_of_a_line = 2000;

bool is_pipe_or_socket(int file) {
    struct stat found {};
    return ::fstat(file, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
}

}  // namespace

Terminal::Terminal() : may_break_(is_pipe_or_socket(STDOUT_FILENO)) {}

bool Terminal::is_broken() const {
    if (broken_ || !may_break_) return broken_;
    pollfd output{STDOUT_FILENO, 0, 0};
    return ::poll(&output, 1, 0) > 0;
}

int Terminal::descriptor() const {
    return may_break_ ? STDOUT_FILENO : -1;
}

bool Terminal::has_reader() const {
    return ::isatty(STDERR_FILENO) == 1;
}

// Done often, because what lines print goes to the same place by another way.
void Terminal::flush() {
    if (std::fflush(stdout) != 0 && errno == EPIPE) broken_ = true;
}

void Terminal::line_begins(shared_list::text::WorkerId worker, const std::string& directory,
                           const std::string& line) {
    std::printf("(worker %u)-> %s> %s\n", worker, directory.c_str(),
                line_for_message(line, most_of_a_line).c_str());
    flush();
}

void Terminal::line_ended(shared_list::text::WorkerId worker, std::uint64_t number, const std::string& mark) {
    std::printf("(worker %u)<- line %llu %s\n", worker, static_cast<unsigned long long>(number),
                mark.c_str());
    flush();
}

void Terminal::output(int file) {
    std::array<char, 65536> buffer;
    off_t at = 0;
    for (ssize_t got = 0; (got = ::pread(file, buffer.data(), buffer.size(), at)) > 0; at += got)
        std::fwrite(buffer.data(), 1, static_cast<std::size_t>(got), stdout);
    flush();
}

void Terminal::print_remark(const std::string& text) const {
    std::fprintf(stderr, "runtask: %s\n", text.c_str());
}

}  // namespace wq::programs::runtask
