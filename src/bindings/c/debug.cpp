#include "bindings/c/debug.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/time.h"
#include "bindings/c/guard.h"
#define CCTOOLS_NO_SHORT_NAMES
#include "cctools/debug.h"

namespace wq::bindings::c {

namespace {

struct Subsystem {
    const char* name;
    std::int64_t flag;
    bool of_manager;  // the manager writes lines for it
};

constexpr std::array subsystems{
    Subsystem{"fatal", D_FATAL, false},     Subsystem{"error", D_ERROR, false},
    Subsystem{"notice", D_NOTICE, true},    Subsystem{"debug", D_DEBUG, false},
    Subsystem{"process", D_PROCESS, false}, Subsystem{"tcp", D_TCP, true},
    Subsystem{"auth", D_AUTH, true},        Subsystem{"wq", D_WQ, true},
    Subsystem{"user", D_USER, false},       Subsystem{"mpi", D_MPI, true},
    Subsystem{"rmonitor", D_RMON, false},   Subsystem{"all", D_ALL, true},
};

// Global to the process, as in CCTools.
struct State {
    std::mutex mutex;
    std::int64_t flags = 0;
    std::string program = program_invocation_short_name;
    std::string file;  // "": stderr
    std::uint64_t rotate_bytes = 10u << 20;
};

State& state() {
    static State& the_one = *new State;  // lives until the process has exited
    return the_one;
}

std::string text_of(const char* format, va_list arguments) {
    std::array<char, 4096> text{};  // longer lines are cut
    std::vsnprintf(text.data(), text.size(), format, arguments);
    return text.data();
}

const char* name_of(std::int64_t flags) {
    for (const Subsystem& one : subsystems)
        if ((flags & one.flag) != 0) return one.name;
    return "info";
}

// "2026-11-22 09:00:00.123 prog[4711] user: text"
std::string line_of(const State& now, std::int64_t flags, const std::string& text) {
    const std::int64_t us = wall_now();
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03d", static_cast<int>(us / 1000 % 1000));
    return local_time(us, "%Y-%m-%d %H:%M:%S") + fraction.data() + " " + now.program + "[" +
           std::to_string(::getpid()) + "] " + name_of(flags) + ": " + text + "\n";
}

// Opens the file for each line: a queue may write the same file, and rename it.
void append(const std::string& file, const std::string& line) {
    const int log =
        file.empty() ? STDERR_FILENO : ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(log, line.data(), line.size());
    if (!file.empty()) ::close(log);
}

enum class OnStderr : std::uint8_t { if_no_file, always };

void add(std::int64_t flags, const std::string& text, OnStderr on_stderr) {
    const bool always = on_stderr == OnStderr::always;
    State& now = state();
    const std::lock_guard lock(now.mutex);
    constexpr std::int64_t said_always = D_FATAL | D_ERROR | D_NOTICE;
    const bool on = flags == 0 || ((now.flags | said_always) & flags) != 0;
    if (!on && !always) return;
    const std::string line = line_of(now, flags, text);
    if (on) append(now.file, line);
    if (always && (!on || !now.file.empty())) append({}, line);
}

}  // namespace

DebugSettings debug_settings() {
    State& now = state();
    const std::lock_guard lock(now.mutex);
    DebugSettings settings;
    settings.rotate_bytes = now.rotate_bytes;
    if (now.flags == D_ALL)
        settings.flags = "all";
    else
        for (const Subsystem& one : subsystems)
            if (one.flag != D_ALL && one.of_manager && (now.flags & one.flag) != 0)
                settings.flags += (settings.flags.empty() ? "" : " ") + std::string(one.name);
    if (now.flags != D_ALL && (now.flags & D_WQ) != 0) settings.flags += " task";
    if (!settings.flags.empty()) settings.file = now.file;
    return settings;
}

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

void cctools_debug(std::int64_t flags, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    guarded(__func__, [&](const char*) { add(flags, text_of(format, arguments), OnStderr::if_no_file); });
    va_end(arguments);
}
void cctools_notice(std::int64_t flags, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    guarded(__func__, [&](const char*) { add(flags, text_of(format, arguments), OnStderr::always); });
    va_end(arguments);
}
void cctools_warn(std::int64_t flags, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    guarded(__func__, [&](const char*) { add(flags, text_of(format, arguments), OnStderr::always); });
    va_end(arguments);
}
void cctools_fatal(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    guarded(__func__, [&](const char*) { add(D_FATAL, text_of(format, arguments), OnStderr::always); });
    va_end(arguments);
    std::exit(EXIT_FAILURE);
}

void cctools_debug_config(const char* name) {
    guarded(__func__, [&](const char*) {
        const std::lock_guard lock(state().mutex);
        state().program = name == nullptr ? program_invocation_short_name : name;
    });
}
void cctools_debug_config_file(const char* path) {
    guarded(__func__, [&](const char* me) {
        const std::string file = path == nullptr || std::string(path) == ":stderr" ? "" : path;
        if (!file.empty()) {
            const int log = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
            if (log < 0) return complain(me, file + ": " + std::system_category().message(errno));
            ::close(log);
        }
        const std::lock_guard lock(state().mutex);
        state().file = file;
    });
}
void cctools_debug_config_file_size(off_t size) {
    const std::lock_guard lock(state().mutex);
    state().rotate_bytes = size > 0 ? static_cast<std::uint64_t>(size) : 0;
}

int cctools_debug_flags_set(const char* name) {
    return guarded(__func__, 0, [&](const char* me) {
        const std::string wanted = name == nullptr ? "" : name;
        if (wanted == "clear") {
            cctools_debug_flags_clear();
            return 1;
        }
        for (const Subsystem& one : subsystems) {
            if (wanted != one.name) continue;
            const std::lock_guard lock(state().mutex);
            state().flags |= one.flag;
            return 1;
        }
        complain(me, "unknown subsystem '" + wanted + "'");
        return 0;
    });
}
void cctools_debug_flags_print(FILE* stream) {
    if (stream == nullptr) return;
    for (const Subsystem& one : subsystems) std::fprintf(stream, "%s ", one.name);
}
std::int64_t cctools_debug_flags_clear(void) {
    const std::lock_guard lock(state().mutex);
    return std::exchange(state().flags, 0);
}
void cctools_debug_flags_restore(std::int64_t flags) {
    const std::lock_guard lock(state().mutex);
    state().flags = flags;
}
