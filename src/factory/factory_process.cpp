#include "factory/factory_process.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/find_program.h"
#include "base/shortage.h"
#include "base/units.h"
#include "node/machine/asked_command.h"
#include "node/machine/launch_variables.h"

namespace wq::factory {

namespace {

constexpr std::string_view program = "work_queue_factory: ";

// Submitting commands and workers would take themselves for a part of our job. Slurm's own settings stay.
bool of_our_job(std::string_view variable) {
    constexpr std::string_view prefixes[] = {"SLURM", "PBS_"};
    // Where the system is, and who we are for it.
    for (const char* kept : {"SLURM_CONF", "SLURM_JWT", "SLURM_CLUSTERS", "PBS_CONF_FILE", "PBS_DEFAULT",
                             "PBS_SERVER", "PBS_EXEC", "PBS_HOME"})
        if (variable.starts_with(kept)) return false;
    return std::any_of(std::begin(prefixes), std::end(prefixes),
                       [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

std::vector<char*> environment() {
    std::vector<char*> kept;
    const node::machine::LaunchVariables launch(environ);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view name = std::string_view(*entry).substr(0, std::strcspn(*entry, "="));
        if (!of_our_job(name) && !launch.has(name)) kept.push_back(*entry);
    }
    kept.push_back(nullptr);
    return kept;
}

bool is_our_factory(const std::string& path) {
    constexpr Duration limit = std::chrono::seconds(30);
    constexpr std::string_view name = "work_queue_factory ";
    if (!is_executable_file(path)) return false;
    const std::string said = node::machine::AskedCommand({path, "--version"}).answer(limit).value_or("");
    return said.size() > name.size() && said.starts_with(name) && said[name.size()] >= '0' &&
           said[name.size()] <= '9';
}

}  // namespace

std::optional<std::string> factory_program_in(const std::vector<std::string>& folders) {
    // PREFIX/lib/python3.11/site-packages/work_queue/_core.so, and BUILD/python/work_queue/_core.so
    constexpr int levels = 5;
    for (const std::string& folder : folders)
        if (auto found =
                find_above(folder, {"work_queue_factory", "bin/work_queue_factory"}, levels, is_our_factory))
            return found;
    return std::nullopt;
}

Result<std::string> find_factory_program() {
    if (auto found =
            factory_program_in(program_folders(reinterpret_cast<const void*>(&find_factory_program))))
        return *found;
    return Error{ExitCode::unreachable,
                 "work_queue_factory of this project is neither near this program nor in PATH"};
}

Result<FactoryProcess> FactoryProcess::start(const std::string& path, const std::vector<std::string>& words,
                                             const std::string& shell_words) {
    Pipe reports = open_pipe();
    if (!reports.valid()) return refused_by_system("no pipe");
    set_nonblocking(reports.read);
    std::vector<std::string> line{"/bin/sh", "-c",     "exec \"$@\" " + shell_words, "sh",
                                  path,      "--json", "--ends-with-reader"};
    line.insert(line.end(), words.begin(), words.end());
    // In a group of its own: ^C at the terminal is for us, and we end it when our tasks have ended. Inherited
    // descriptors, such as mpirun's, stay with us.
    const std::vector<char*> variables = environment();
    Child child(line, {.out = reports.write.get(),
                       .err = reports.write.get(),
                       .group = ChildOptions::Group::own,
                       .closes_others = true,
                       .environment = variables.data()});
    if (child.start_error() != 0)
        return refused_by_system("cannot start " + path, child.start_error(), ExitCode::unreachable);
    return FactoryProcess(std::move(child), std::move(reports.read));
}

FactoryProcess::~FactoryProcess() {
    stop(std::chrono::seconds(1), [](const std::string&) {});
}

void FactoryProcess::handle_reports(const std::function<void(const std::string&)>& say) {
    std::array<char, 4096> part;
    while (reports_.valid()) {
        const ssize_t got = ::read(reports_.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) {
            reports_.reset();
            break;
        }
        partial_.append(part.data(), static_cast<std::size_t>(got));
        for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
            take(partial_.substr(0, end), say);
            partial_.erase(0, end + 1);
        }
    }
}

void FactoryProcess::take(const std::string& line, const std::function<void(const std::string&)>& say) {
    if (line.starts_with(program) && line.substr(program.size()).starts_with(words_of_begin))
        has_begun_ = true;
    if (auto report = report_in(line))
        report_ = std::move(report);
    else if (!line.empty())
        say(line_for_message(line.starts_with(program) ? "factory: " + line.substr(program.size()) : line,
                             500));
}

void FactoryProcess::ask_to_stop() const {
    child_.signal(SIGTERM);
}

void FactoryProcess::stop(Duration limit, const std::function<void(const std::string&)>& say) {
    if (!child_.running()) return;
    ask_to_stop();
    const Instant until = instant_now() + limit;
    while (running()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
        if (left.count() <= 0) break;
        pollfd ready{reports_.get(), POLLIN, 0};
        ::poll(&ready, 1, static_cast<int>(left.count()));
        handle_reports(say);
    }
    const bool ended = !running();
    reports_.reset();  // it ends when it notices
    if (ended)
        child_.wait();
    else
        child_.release();
}

}  // namespace wq::factory
