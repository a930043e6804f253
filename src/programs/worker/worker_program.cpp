#include "programs/worker/worker_program.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/background.h"
#include "base/find_program.h"
#include "base/random_bits.h"
#include "base/shortage.h"
#include "base/signals.h"
#include "engine/model/task.h"
#include "files/trees/cache.h"
#include "manager/run/job_end.h"
#include "manager/run/rank_loop.h"
#include "net/session/session_table.h"
#include "node/launcher/function_runner.h"
#include "node/machine/allowance.h"
#include "node/machine/batch_job.h"
#include "node/machine/topology.h"
#include "programs/worker/coprocess_options.h"
#include "programs/worker/last_words.h"
#include "programs/worker/manager_calls.h"
#include "programs/worker/worker_resources.h"
#include "records/journal/debug_log.h"
#include "records/journal/run_status.h"
#include "worker/worker_session.h"

namespace wq::programs::worker {

namespace {

constexpr Duration launcher_close_limit = std::chrono::seconds(5);
constexpr Duration calls_end_limit = std::chrono::seconds(5);
constexpr Duration longest_kill = std::chrono::seconds(10);

void print(const std::string& text) {
    std::printf("work_queue_worker: %s\n", text.c_str());
    std::fflush(stdout);
}

void warn(const std::string& text) {
    std::fprintf(stderr, "work_queue_worker: %s\n", text.c_str());
}

std::string workspace_parent(const WorkerProgramOptions& options) {
    std::string folder = options.workdir;
    for (const char* name : {"CCTOOLS_TEMP", "_CONDOR_SCRATCH_DIR", "TMPDIR", "TEMP", "TMP"}) {
        const char* value = std::getenv(name);
        if (folder.empty() && value != nullptr) folder = value;
    }
    if (folder.empty()) folder = "/tmp";
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(folder, unknown);
    return unknown ? folder : whole.string();
}

Result<WorkerResources> resources_of(Result<node::machine::Machine> machine,
                                     const WorkerProgramOptions& options) {
    if (!machine) return machine.error();
    const node::machine::Bounds batch = node::machine::batch_bounds(
        node::machine::batch_environment(), {machine->cores.size(), machine->threads()});
    return worker_resources(std::move(*machine), node::machine::free_disk_mb(workspace_parent(options)),
                            options, batch);
}

// The parent may have ended before prctl().
void die_with_parent(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);
}

class Program {
  public:
    Program(const WorkerProgramOptions& options, const node::process::FunctionTable& functions)
        : options_(options),
          parent_(::getppid()),
          function_table_(functions),
          launcher_(node::launcher::Launcher::start(&functions, send_last_words).or_throw()),
          signals_(Signals::block().or_throw()),
          batch_end_(manager::run::ask_for_end(manager::run::EndFrom::server)),
          calls_(ManagerCalls::of(options, warn).or_throw()),
          random_(random_bits()) {
        ::signal(SIGPIPE, SIG_IGN);
        if (!options.debug.empty()) open_debug_log();
        // The worker sets these for its own tasks from their allocations.
        for (const char* name : {"CORES", "MEMORY", "DISK", "GPUS"}) ::unsetenv(name);
        if (options.parent_death) die_with_parent(parent_);
    }

    int run() {
        for (const std::string& remark : options_.remarks) warn(remark);
        leaves_at_ = known_end();
        if (const std::string warning = calls_.warning(); !warning.empty()) warn(warning);
        next_draw_ = instant_now() + between_draws();
        ExitCode code = ExitCode::ok;
        bool calls_ended = true;
        do {
            open_workspace();
            code = serve();
            calls_ended = functions_->end(calls_end_limit);
            worker_.reset();
            coprocesses_.reset();
            files_.reset();  // nothing is written in the workspace any more
            print_and_log("deleting workspace " + launcher_->scratch());
        } while (std::exchange(comes_back_, false) && calls_ended && code == ExitCode::ok);
        launcher_->close(launcher_close_limit);
        if (!calls_ended) ::_exit(to_int(code));  // a function is still running in our memory
        return to_int(code);
    }

  private:
    ExitCode serve() {
        wq::worker::WorkerSession session(
            session_options(), *worker_, [this](wq::worker::Whom whom) { return calls_.begin(whom); },
            [this](const std::string& text) { print_and_log(text); }, instant_now());
        manager::run::Waiter waiter;
        manager::run::BackOff back_off(instant_now());
        while (!session.over()) {
            while (const auto signal = signals_.next()) {
                session.stop(*signal, instant_now());
                comes_back_ = false;
            }
            session.run_turn(instant_now());
            launcher_->keep_until(session.keeps_tasks_until(instant_now()));
            leave_last_words();
            fail_by_chance();
            leave_with_less(session);
            leave_without_coprocesses(session);
            if (!session.over()) wait(session, waiter, back_off);
        }
        if (session.dismissed()) comes_back_ = false;
        const ManagerCalls::Refusal refusal = calls_.refusal();
        if (session.code() != ExitCode::unreachable || refusal.line.empty()) return session.code();
        warn(refusal.line);
        return refusal.by_all ? ExitCode::not_allowed : ExitCode::unreachable;
    }

    void leave_last_words() {
        const wq::worker::ManagerLink& link = worker_->link();
        if (link.token() == session_token_) return;
        session_token_ = link.token();
        const auto words = link.last_words();
        launcher_->leave_last_words(words ? encode_last_words(calls_.last(), *words, link.grace())
                                          : std::string());
    }

    // A control group or cpuset may shrink at any time, but the offer was sent when the worker joined.
    void leave_with_less(wq::worker::WorkerSession& session) {
        if (instant_now() < next_look_) return;
        next_look_ = instant_now() + between_looks();
        if (session.draining()) return;
        const node::machine::Allowance now = node::machine::Allowance::of_this_process();
        const std::string less = node::machine::what_is_less(allowed_, now);
        if (less.empty()) return;
        const auto found = look_again();
        if (!found) return print_failed_look(less, found.error().message);
        allowed_ = now;
        cannot_look_.clear();
        const std::string lacks = what_it_lacks(resources_, *found, node::machine::CpuMask::of_process(0));
        if (lacks.empty()) return print_and_log(less + "; its offer stays the same");
        comes_back_ = true;
        session.leave(less + "; " + lacks + ": it finishes its tasks, leaves, and rejoins with less",
                      instant_now());
    }

    // A worker cannot change its offer, so it joins again.
    void leave_without_coprocesses(wq::worker::WorkerSession& session) {
        if (!coprocesses_) return;
        for (const std::string& one : coprocesses_->take_news()) print_and_log(one);
        const auto why = coprocesses_->given_up();
        if (!why || session.draining()) return;
        coprocesses_failed_ = comes_back_ = true;
        session.leave(*why + "; it finishes its tasks, leaves, and rejoins without coprocesses",
                      instant_now());
    }

    void start_coprocesses() {
        if (options_.coprocesses.file.empty() || coprocesses_failed_) return;
        coprocesses_ = worker::start_coprocesses(options_.coprocesses, resources_, workspace_parent(options_),
                                                 *launcher_, options_.time_scale, signals_.descriptor())
                           .or_throw();
        print_and_log("using " +
                      describe(*coprocesses_, coprocess_share(options_.coprocesses, resources_.offers)));
    }

    // Looks for GPUs only once: their number does not shrink, and waiting for their driver would block
    // everything else.
    Result<WorkerResources> look_again() const {
        return resources_of(node::machine::discover_again(node::machine::CpuMask::of_process(0), *gpus_),
                            options_);
    }

    Result<WorkerResources> discover() {
        if (gpus_) return look_again();
        auto machine = node::machine::discover(node::machine::CpuMask::of_process(0));
        if (machine) gpus_ = machine->gpus;
        return resources_of(std::move(machine), options_);
    }

    // Tries again at the next look; reconnecting would fail for the same reason.
    void print_failed_look(const std::string& less, const std::string& why) {
        const std::string text =
            less + "; the worker offers the same as before, because it cannot inspect its machine: " + why;
        if (std::exchange(cannot_look_, text) != text) print_and_log(text);
    }

    Duration between_looks() const {
        return std::chrono::duration_cast<Duration>(std::chrono::seconds(10) * options_.time_scale);
    }

    void open_debug_log() {
        records::journal::DebugLogOptions log;
        log.path = options_.debug_file;
        log.flags = options_.debug;
        log.rotate_bytes = options_.debug_rotate;
        log.program = "work_queue_worker";
        debug_ = records::journal::DebugLog::open(log).or_throw();
    }

    // If it cannot keep the cache, the worker says so and continues.
    std::string kept_cache() {
        if (options_.kept_cache.empty() || !kept_cache_.path().empty()) return kept_cache_.path();
        const auto folder = std::filesystem::absolute(options_.kept_cache);
        if (const auto trouble = kept_cache_.take(folder, records::journal::host_name()))
            print_and_log("the cache is not kept: " + trouble->what);
        return kept_cache_.path();
    }

    void print_and_log(const std::string& text) {
        print(text);
        debug("wq", text);
    }

    void debug(std::string_view subsystem, const std::string& text) {
        if (!debug_) return;
        debug_->write(subsystem, text);
        if (const auto trouble = debug_->take_trouble()) print(trouble->message);
    }

    void open_workspace() {
        const std::string parent = workspace_parent(options_);
        wq::worker::WorkerOptions worker;
        worker.launcher.shell = find_shell().or_throw();
        worker.launcher.scratch = parent;
        worker.launcher.work_in_scratch = true;
        worker.launcher.environment_lines = true;
        allowed_ =
            node::machine::Allowance::of_this_process();  // first, so that changes from now on are noticed
        resources_ = discover().or_throw();
        const WorkerResources& resources = resources_;
        for (const std::string& remark : resources.machine.remarks) warn(remark);
        next_look_ = instant_now() + between_looks();
        worker.launcher.slice = resources.slice;
        worker.hello.offers = resources.offers;
        worker.hello.allocated_cores = resources.allocated_cores;
        worker.hello.host = records::journal::host_name();
        worker.hello.job = node::machine::batch_job(node::machine::batch_environment());
        worker.hello.features = options_.features;
        worker.hello.identity = net::session::random_token();
        worker.wrapper = options_.task_wrapper;
        worker.kept_cache = kept_cache();
        worker.hello.os = options_.os;
        worker.hello.arch = options_.arch;
        worker.fetch_timeout = std::chrono::ceil<std::chrono::seconds>(options_.url_timeout);
        if (!options_.factory.empty())
            worker.hello.features.push_back(std::string(engine::model::factory_feature) + options_.factory);
        worker.leaves_at = leaves_at_;
        worker.job_started = manager::run::known_start();
        launcher_->begin_anew(worker.launcher, launcher_close_limit).or_throw();
        print_and_log("creating workspace " + launcher_->scratch());
        print_and_log("using " + resources_line(resources.offers));
        const auto cores =
            static_cast<std::size_t>(std::max<std::int64_t>(resources.offers.cores.rounded_down(), 1));
        start_coprocesses();
        functions_.emplace(function_table_, cores);
        files_.emplace();
        worker_ = std::make_unique<wq::worker::Worker>(std::move(worker), *launcher_, &*functions_, &*files_,
                                                       coprocesses_.get());
    }

    // If the user gave the end, the worker does not wait for the batch system's answer.
    std::optional<Instant> known_end() {
        if (!options_.wall_time) return manager::run::known_end(batch_end_);
        const Instant given = instant_now() + *options_.wall_time;
        const auto by_batch = manager::run::known_end(batch_end_, Duration{0});
        return by_batch ? std::min(given, *by_batch) : given;
    }

    wq::worker::WorkerSessionOptions session_options() {
        wq::worker::WorkerSessionOptions session;
        session.idle_timeout = options_.idle_timeout;
        session.connect_timeout = options_.connect_timeout;
        session.min_backoff = options_.min_backoff;
        session.max_backoff = options_.max_backoff;
        session.welcome_limit =
            std::chrono::duration_cast<Duration>(session.welcome_limit * options_.time_scale);
        session.drain_grace = options_.grace;
        session.single_shot = options_.single_shot;
        session.by_name = !options_.manager_regex.empty();
        session.seed = random_();
        if (debug_)
            session.note = [this](const net::frames::Note& note) { debug(note.subsystem, note.text); };
        if (leaves_at_) {
            const Duration left = std::max(*leaves_at_ - instant_now(), Duration{0});
            const Duration before = std::min(manager::run::drain_before_end, left / 5);
            session.drain_at = *leaves_at_ - before;
            session.drain_at_grace = before - std::min(longest_kill, before / 3);
        }
        return session;
    }

    void wait(wq::worker::WorkerSession& session, manager::run::Waiter& waiter,
              manager::run::BackOff& back_off) {
        const Instant before = instant_now();
        if (session.take_heard_close_by() || std::exchange(call_ended_, false)) {
            back_off.heard_close_by(before);
            session.expect_until(back_off.yields_until());
        }
        std::optional<Instant> next = session.wakeup();
        if (!comes_back_) next = std::min(next.value_or(next_look_), next_look_);
        if (options_.volatility > 0) next = std::min(next.value_or(next_draw_), next_draw_);
        waiter.clear();
        waiter.watch(signals_.descriptor());
        waiter.watch(launcher_->descriptor());
        waiter.watch(functions_->descriptor());
        waiter.watch(files_->descriptor());
        if (coprocesses_) waiter.watch(coprocesses_->descriptor());
        for (const int descriptor : session.descriptors()) waiter.watch(descriptor);
        std::optional<Duration> longest;
        if (next) longest = std::max(*next - before, Duration{0});
        if (back_off.yields(before))
            waiter.yield();
        else
            waiter.wait(longest);
        call_ended_ = waiter.readable(functions_->descriptor()) && worker_->runs_one_call();
    }

    Duration between_draws() const {
        return std::chrono::duration_cast<Duration>(std::chrono::minutes(1) * options_.time_scale);
    }

    // Like a machine failure; the launcher notices and kills our tasks.
    void fail_by_chance() {
        if (options_.volatility <= 0 || instant_now() < next_draw_) return;
        next_draw_ += between_draws();
        if (std::uniform_real_distribution<double>(0, 1)(random_) >= options_.volatility) return;
        print("exiting at random (--volatility)");
        ::_exit(1);
    }

    const WorkerProgramOptions& options_;
    const pid_t parent_;
    const node::process::FunctionTable& function_table_;
    std::unique_ptr<node::launcher::Launcher> launcher_;
    Signals signals_;
    node::machine::BatchEnd batch_end_;
    ManagerCalls calls_;
    std::mt19937_64 random_;
    std::unique_ptr<records::journal::DebugLog> debug_;
    std::optional<node::launcher::FunctionRunner> functions_;
    files::trees::KeptCache kept_cache_;
    std::optional<BackgroundThread> files_;                      // started after the launcher is forked
    std::unique_ptr<functions::coprocess::Runner> coprocesses_;  // null: none
    std::unique_ptr<wq::worker::Worker> worker_;
    std::optional<Instant> leaves_at_;
    std::string session_token_;  // of the last words that were left
    Instant next_draw_;
    std::optional<node::machine::Gpus> gpus_;  // found when the worker first joined
    WorkerResources resources_;                // offered when the worker joined
    node::machine::Allowance allowed_;         // at the last look
    Instant next_look_;
    std::string cannot_look_;  // last message about a failed look
    bool coprocesses_failed_ = false;
    bool call_ended_ = false;
    bool comes_back_ = false;  // it leaves to join again with a smaller offer
};

}  // namespace

int detect_program(const WorkerCommand& command) {
    try {
        const WorkerResources found =
            resources_of(node::machine::discover(node::machine::CpuMask::of_process(0)), command.work)
                .or_throw();
        const std::string text = command.json ? detect_json(found)
                                 : command.drawn_task
                                     ? draw_tasks(found, *command.drawn_task, terminal_style())
                                 : command.draw ? node::machine::draw_machine(found.machine, terminal_style())
                                                : detect_text(found);
        std::fputs(text.c_str(), stdout);
        return after_output("work_queue_worker", 0);
    } catch (const Failure& failure) {
        warn(failure.error.message);
        return to_int(failure.error.code);
    }
}

int run_worker(const WorkerProgramOptions& options, const node::process::FunctionTable& functions) {
    try {
        return Program(options, functions).run();
    } catch (const Failure& failure) {
        warn(failure.error.message);
        return to_int(failure.error.code);
    } catch (const std::exception& error) {
        const Error why = unexpected(error);
        warn(why.message);
        return to_int(why.code);
    }
}

int worker_main(int argc, const char* const* argv, const node::process::FunctionTable& functions) {
    const auto command = parse_worker_command_line(
        argc, argv, [](const char* name) -> const char* { return std::getenv(name); });
    if (!command) {
        std::fprintf(stderr, "work_queue_worker: %s\n", command.error().message.c_str());
        return to_int(command.error().code);
    }
    using Kind = WorkerCommand::Kind;
    if (command->kind == Kind::help || command->kind == Kind::version) {
        const std::string text =
            command->kind == Kind::help ? worker_help_text() : "work_queue_worker " WQ_VERSION "\n";
        std::fputs(text.c_str(), stdout);
        return after_output("work_queue_worker", 0);
    }
    if (command->kind == Kind::detect) return detect_program(*command);
    std::signal(SIGXFSZ, SIG_IGN);
    return run_worker(command->work, functions);
}

}  // namespace wq::programs::worker
