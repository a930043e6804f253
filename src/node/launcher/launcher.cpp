#include "node/launcher/launcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>

#include "base/find_program.h"
#include "node/launcher/launcher_wire.h"
#include "node/launcher/shared_page.h"
#include "node/launcher/zygote.h"
#include "node/process/process_tree.h"

namespace wq::node::launcher {

namespace {

// The zygote may first have to kill the processes of the previous launcher, and wait up to 5 s for them.
constexpr Duration fork_limit = std::chrono::seconds(10);

std::string describe_end(int status) {
    if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
    if (WEXITSTATUS(status) == 0) return "ended, because its worker was stopped for too long";
    return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

class RankEnd final : public Launcher {
  public:
    // The zygote is of another program, or a fork of this process, which may be a subreaper for it.
    enum class From : std::uint8_t { program, fork, fork_of_subreaper };

    RankEnd(std::unique_ptr<SharedMemory> memory, Zygote zygote, From from)
        : memory_(std::move(memory)),
          zygote_(std::move(zygote)),
          from_(from),
          epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        watch(zygote_.control.get(), EPOLL_CTL_ADD, EPOLLIN);
    }
    ~RankEnd() override { close(std::chrono::seconds(5)); }

    Status open(const LauncherOptions& options) override;
    std::string scratch() const override { return memory_->page().scratch.data(); }
    int descriptor() const override { return epoll_.get(); }
    void environment(const EnvironmentLine& line) override {
        lines_.push_back(line);
        send_command(line);
    }
    void enter(const std::string& directory) override {
        directory_ = directory;
        send_command(EnterMessage{directory});
    }
    void run(process::Order order) override;
    void kill(TaskId task, Attempt attempt) override { send_command(KillMessage{task, attempt}); }
    void recall(std::uint64_t most) override { send_command(RecallMessage{most}); }
    void kill_all() override { send_command(KillAllMessage{}); }
    std::vector<Report> next() override;
    Status fork_child(int socket, void (*main)(int socket)) override;
    void leave_last_words(const std::string& words) override {
        has_last_words_ = launcher::leave_last_words(zygote_.control.get(), words) && !words.empty();
    }
    void keep_until(Instant until) override;
    Status begin_anew(const LauncherOptions& options, Duration limit) override;
    void close(Duration limit) override;

  private:
    using Named = std::pair<TaskId, Attempt>;

    bool alive() const { return socket_.valid(); }
    void watch(int fd, int operation, std::uint32_t events) const;
    void want_to_write();
    void send_command(const Command& command);
    void send();
    void read_reports(std::vector<Report>& reports);
    void read_zygote_news();
    void hang_up();
    bool wait_for_fork();
    void end_launcher(Duration limit);
    void end_orphans();
    LauncherDied obituary();

    std::unique_ptr<SharedMemory> memory_;
    Zygote zygote_;
    const From from_;
    Descriptor epoll_;
    Descriptor socket_;
    MessageStream stream_;
    SendBuffer leaving_;    // not yet written to the socket
    bool writing_ = false;  // we poll the socket for room
    std::vector<EnvironmentLine> lines_;
    std::string directory_;                       // the last one entered
    std::map<std::uint64_t, Named> outstanding_;  // by serial
    std::uint64_t last_serial_ = 0;
    std::string end_;  // how the launcher ended; empty: it runs, or never ran
    int fork_error_ = 0;
    int scratch_error_ = 0;
    pid_t launcher_ = 0;
    Instant kept_until_ = Instant::max();  // as it was last told
    bool reported_ = true;                 // the end of the last launcher
    bool zygote_gone_ = false;
    bool has_last_words_ = false;  // the zygote says them after us
};

void RankEnd::watch(int fd, int operation, std::uint32_t events) const {
    epoll_event event{};
    event.events = events;
    epoll_ctl(epoll_.get(), operation, fd, &event);
}

Status RankEnd::open(const LauncherOptions& options) {
    if (alive()) return Error{ExitCode::internal, "the launcher is already open"};
    if (zygote_gone_)
        return Error{ExitCode::unreachable,
                     "the process that starts launchers was killed: this rank can run no more tasks"};
    if (!options.working_directory.empty() && access(options.working_directory.c_str(), X_OK) != 0)
        return Error{ExitCode::bad_input, "cannot enter the working directory '" + options.working_directory +
                                              "': " + strerror(errno)};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return Error{ExitCode::unreachable,
                     std::string("cannot make a socket for the launcher: ") + strerror(errno)};
    Descriptor ours(ends[0]);
    const Descriptor theirs(ends[1]);
    launcher_ = 0;
    memory_->page().scratch.front() = '\0';
    fork_error_ = 0;
    scratch_error_ = 0;
    end_.clear();
    if (!ask_for_launcher(zygote_.control.get(), theirs.get(), options.scratch) || !wait_for_fork()) {
        if (scratch_error_ != 0)
            return Error{scratch_error_ == EACCES ? ExitCode::not_allowed : ExitCode::bad_input,
                         "cannot make a temporary folder in '" + options.scratch + "': " +
                             strerror(scratch_error_) + "; set TMPDIR to a folder that can be written"};
        return Error{ExitCode::unreachable,
                     std::string("cannot fork the launcher: ") +
                         (fork_error_ != 0 ? strerror(fork_error_)
                          : zygote_gone_   ? "the process that does it is gone"
                                           : "the process that does it has not answered in time")};
    }
    socket_ = std::move(ours);
    stream_ = {};
    reported_ = false;
    writing_ = false;
    kept_until_ = Instant::max();
    watch(socket_.get(), EPOLL_CTL_ADD, EPOLLIN);
    std::string first;
    append(first, options);
    if (!directory_.empty()) append(first, EnterMessage{directory_});
    for (const EnvironmentLine& line : lines_) append(first, line);
    leaving_.insert_front(first);
    send();
    return success();
}

bool RankEnd::wait_for_fork() {
    const Instant until = instant_now() + fork_limit;
    while (launcher_ == 0 && fork_error_ == 0 && scratch_error_ == 0 && !zygote_gone_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        pollfd ready{zygote_.control.get(), POLLIN, 0};
        if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) break;
        read_zygote_news();
    }
    return launcher_ != 0;
}

void RankEnd::run(process::Order order) {
    const std::uint64_t serial = ++last_serial_;
    outstanding_.emplace(serial, Named{order.task, order.attempt});
    append_order(leaving_.end(), serial, order);
    want_to_write();
}

void RankEnd::send_command(const Command& command) {
    if (!alive()) return;
    append(leaving_.end(), command);
    want_to_write();
}

// Makes descriptor() ready, so that the caller calls next(), which sends what waits.
void RankEnd::want_to_write() {
    if (!alive() || std::exchange(writing_, true)) return;
    watch(socket_.get(), EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

void RankEnd::send() {
    if (!alive() || leaving_.empty()) return;
    leaving_.send(socket_.get());  // if the launcher is gone, end of file shows it
    if (!leaving_.empty()) return want_to_write();
    if (std::exchange(writing_, false)) watch(socket_.get(), EPOLL_CTL_MOD, EPOLLIN);
}

std::vector<Report> RankEnd::next() {
    std::vector<Report> reports;
    send();
    if (alive()) read_reports(reports);
    read_zygote_news();
    const bool settled = !end_.empty() || zygote_gone_;
    if (!alive() && !reported_ && settled) {
        if (zygote_gone_) end_orphans();
        reported_ = true;
        reports.emplace_back(obituary());
    }
    return reports;
}

void RankEnd::read_reports(std::vector<Report>& reports) {
    const bool connected = stream_.receive(socket_.get());
    while (const auto message = stream_.next()) {
        auto report = decode_report(*message);
        if (!report) return hang_up();  // later messages cannot be trusted
        const bool settles = !std::holds_alternative<TaskStarted>(report->report);
        if (settles && report->serial != 0) outstanding_.erase(report->serial);
        reports.push_back(std::move(report->report));
    }
    if (!connected) hang_up();
}

void RankEnd::hang_up() {
    socket_.reset();  // also leaves the epoll set
    leaving_.clear();
    writing_ = false;
}

void RankEnd::read_zygote_news() {
    while (!zygote_gone_) {
        const auto news = hear_zygote(zygote_.control.get(), zygote_gone_);
        if (!news) break;
        switch (news->kind) {
            case ZygoteNews::Kind::forked:
                launcher_ = news->value;
                end_.clear();  // of a launcher requested earlier that came late
                break;
            case ZygoteNews::Kind::not_forked:
                fork_error_ = news->value;
                break;
            case ZygoteNews::Kind::no_scratch:
                scratch_error_ = news->value;
                break;
            case ZygoteNews::Kind::ended:
                if (news->launcher == launcher_) end_ = describe_end(news->value);
                break;
        }
    }
    if (zygote_gone_) watch(zygote_.control.get(), EPOLL_CTL_DEL, 0);
}

// If zygote and launcher were killed, we have adopted what they started.
void RankEnd::end_orphans() {
    if (from_ != From::fork_of_subreaper) return;
    while (waitpid(zygote_.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    zygote_.pid = -1;
    process::end_all_children(process::kill_limit_ms);
}

LauncherDied RankEnd::obituary() {
    LauncherDied died;
    died.why = end_.empty() ? "its parent process was killed" : end_;
    const BegunOrders& begun = memory_->page().begun;
    for (const auto& [serial, named] : outstanding_)
        (begun.has(serial) ? died.started : died.not_started).push_back(named);
    outstanding_.clear();
    leaving_.clear();  // orders given after the end of file were just returned
    return died;
}

void RankEnd::end_launcher(Duration limit) {
    const Instant until = instant_now() + limit;
    send_command(CloseMessage{});
    while (alive() || (!reported_ && end_.empty() && !zygote_gone_)) {
        next();
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - instant_now());
        pollfd ready{epoll_.get(), POLLIN, 0};
        if (left.count() <= 0) break;
        if (alive() || !reported_) poll(&ready, 1, static_cast<int>(left.count()));
    }
    hang_up();
}

Status RankEnd::fork_child(int socket, void (*main)(int socket)) {
    if (from_ == From::program)
        return Error{ExitCode::unreachable,
                     "processes of a program that has called MPI_Init itself cannot be forked after that"};
    if (ask_for_child(zygote_.control.get(), socket, main)) return success();
    return Error{ExitCode::unreachable, "the process that forks processes of this rank was killed"};
}

void RankEnd::keep_until(Instant until) {
    constexpr Duration worth_telling = std::chrono::milliseconds(250);
    if (until >= kept_until_ && until - kept_until_ < worth_telling) return;
    kept_until_ = until;
    send_command(KeepMessage{until});
}

Status RankEnd::begin_anew(const LauncherOptions& options, Duration limit) {
    end_launcher(limit);
    outstanding_.clear();
    lines_.clear();
    reported_ = true;
    return open(options);
}

void RankEnd::close(Duration limit) {
    end_launcher(limit);
    if (zygote_.pid <= 0) return;
    const bool ends_at_once = !has_last_words_ && (!end_.empty() || launcher_ == 0 || zygote_gone_);
    zygote_.control.reset();  // it ends, and kills what is left
    zygote_gone_ = true;
    while (ends_at_once && waitpid(zygote_.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    zygote_.pid = -1;
}

}  // namespace

Result<std::unique_ptr<Launcher>> Launcher::start(const process::FunctionTable* functions,
                                                  LastWords last_words) {
    if (functions != nullptr) {  // or every call would write the buffered text again
        std::fflush(nullptr);
        std::cout.flush();
    }
    auto memory = std::make_unique<SharedMemory>();
    auto zygote = fork_zygote(memory->page(), functions, last_words);
    if (!zygote) return zygote.error();
    const bool adopts = last_words != nullptr && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
    return std::unique_ptr<Launcher>(
        std::make_unique<RankEnd>(std::move(memory), std::move(zygote).or_throw(),
                                  adopts ? RankEnd::From::fork_of_subreaper : RankEnd::From::fork));
}

Result<std::unique_ptr<Launcher>> Launcher::start_program(const std::string& path) {
    const Descriptor file(memfd_create("launcher", MFD_CLOEXEC));
    if (!file.valid() || ftruncate(file.get(), sizeof(SharedPage)) != 0)
        return Error{ExitCode::unreachable,
                     std::string("no memory to share with the launcher: ") + strerror(errno)};
    auto memory = std::make_unique<SharedMemory>(file.get());
    auto zygote = spawn_zygote(path, file.get());
    if (!zygote) return zygote.error();
    return std::unique_ptr<Launcher>(
        std::make_unique<RankEnd>(std::move(memory), std::move(zygote).or_throw(), RankEnd::From::program));
}

namespace {

// Relative to a prefix; absolute if the installation configured it so.
constexpr const char* place = WQ_LAUNCHER_PLACE;
constexpr int levels = 3;  // PREFIX/lib/x86_64-linux-gnu/libwork_queue_mpi.so.0, PREFIX/bin/program

}  // namespace

Result<std::string> find_launcher_program(const std::string& wanted) {
    const char* const variable = std::getenv("WORK_QUEUE_LAUNCHER");
    const std::string named = !wanted.empty() ? wanted : variable != nullptr ? variable : "";
    if (!named.empty()) {
        if (is_executable_file(named)) return named;
        return Error{ExitCode::usage, "'" + named +
                                          "' cannot be executed; the launcher (MpiOptions.launcher, or "
                                          "WORK_QUEUE_LAUNCHER) is the path of work_queue_launcher"};
    }
    for (const std::string& folder : program_folders(reinterpret_cast<const void*>(&find_launcher_program)))
        if (auto found = find_above(folder, {place}, levels)) return *found;
    if (is_executable_file(WQ_LAUNCHER_INSTALLED)) return std::string(WQ_LAUNCHER_INSTALLED);
    return Error{ExitCode::unreachable,
                 "work_queue_launcher, which runs commands where a program has called MPI_Init itself, is "
                 "neither near the program nor in " WQ_LAUNCHER_INSTALLED
                 ": set WORK_QUEUE_LAUNCHER to its path"};
}

}  // namespace wq::node::launcher
