#include "programs/run/graph_log_gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/shortage.h"
#include "base/write_all.h"
#include "records/journal/append_file.h"

extern char** environ;

namespace wq::programs::run {

namespace {

std::string reason(int error_number) {
    return std::generic_category().message(error_number);
}

// Both ends close on exec and with the object.
struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) == 0) read_end = ends[0], write_end = ends[1];
    }
    ~Pipe() { close_read(), close_write(); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void close_read() { close_end(read_end); }
    void close_write() { close_end(write_end); }

  private:
    static void close_end(int& fd) {
        if (fd >= 0) ::close(fd);
        fd = -1;
    }
};

// gnuplot writes its errors to memory, so it never blocks on us while we wait for it.
struct Complaints {
    int fd = ::memfd_create("gnuplot", MFD_CLOEXEC);
    Complaints() = default;
    ~Complaints() {
        if (fd >= 0) ::close(fd);
    }
    Complaints(const Complaints&) = delete;
    Complaints& operator=(const Complaints&) = delete;

    // The line with the error: below the echoed command and a caret, as `line 7: ...`.
    std::string telling_line() const {
        char buffer[8192];
        const ssize_t n = ::pread(fd, buffer, sizeof buffer, 0);
        std::string_view rest(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
        std::string first;
        while (!rest.empty()) {
            std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
            if (line.starts_with("line ")) return std::string(line);
            if (first.empty() && line.find_first_not_of("^ ") != std::string_view::npos) first = line;
        }
        return first;
    }
};

int spawn(const std::string& program, int input, int complaints, pid_t& child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, complaints, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &pipe_signal);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    std::string name = program;
    char* arguments[] = {name.data(), nullptr};
    const int failed = ::posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

// Check first, because gnuplot's error for a file that cannot be created has neither file nor reason.
Status check_writable(const records::hdf5::PlotStyle& style, const records::hdf5::Plots& plots) {
    for (const std::string& path : records::hdf5::plot_paths(style, plots)) {
        const bool existed = ::access(path.c_str(), F_OK) == 0;
        const auto file = records::journal::AppendFile::open(path);
        if (!file) {
            const bool forbidden = file.error().code == ExitCode::not_allowed;
            return Error{forbidden ? ExitCode::not_allowed : ExitCode::usage,
                         file.error().message + "; choose another place with -o"};
        }
        if (!existed) ::unlink(path.c_str());
    }
    return success();
}

}  // namespace

Status draw_with_gnuplot(const std::string& program, const records::hdf5::PlotStyle& style,
                         const records::hdf5::Plots& plots) {
    if (auto checked = check_writable(style, plots); !checked) return checked;
    const std::string script = records::hdf5::plot_script(style, plots);
    const Complaints complaints;
    Pipe input;
    if (complaints.fd < 0 || input.read_end < 0) return refused_by_system("no pipe");
    pid_t child = -1;
    if (const int failed = spawn(program, input.read_end, complaints.fd, child); failed != 0) {
        return Error{ExitCode::unreachable, "cannot run " + program + ": " + reason(failed) +
                                                "; install it (Debian: gnuplot-nox) or name one with -c"};
    }
    input.close_read();
    std::signal(SIGPIPE, SIG_IGN);  // if gnuplot ends early, its error message says why
    write_all(input.write_end, script);
    input.close_write();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return success();
    const std::string said = complaints.telling_line();
    const std::string how = WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                                : "exit code " + std::to_string(WEXITSTATUS(status));
    return Error{ExitCode::internal, program + " failed: " + (said.empty() ? how : said)};
}

}  // namespace wq::programs::run
