#include "worker/worker.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "engine/model/task.h"
#include "node/calls/python_call.h"
#include "node/process/process_tree.h"
#include "worker/manager_link.h"

namespace wq::worker {

namespace {

// Identifies the workers of one user on one host, since the host's boot.
std::string node_name() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return boot.empty() ? boot : boot + "." + std::to_string(::geteuid());
}

// Adds what this process knows of itself.
WorkerOptions completed(WorkerOptions options, const WorkerTasks::Parts& parts) {
    net::messages::Hello& hello = options.hello;
    struct utsname system {};
    ::uname(&system);
    if (hello.os.empty()) hello.os = system.sysname;
    if (hello.arch.empty()) hello.arch = system.machine;
    hello.node = parts.background != nullptr ? node_name() : "";
    if (parts.functions != nullptr)
        parts.functions->functions().for_each_name([&](const std::string& name) {
            hello.features.push_back(std::string(engine::model::function_feature) + name);
        });
    if (node::calls::has_python())
        hello.features.push_back(std::string(engine::model::function_feature) +
                                 std::string(node::calls::python_function));
    if (parts.coprocesses != nullptr) {
        hello.offers.coprocesses = parts.coprocesses->count();
        // The second one is CCTools' name of it.
        for (const std::string_view prefix :
             {engine::model::coprocess_feature, engine::model::coprocess_feature_of_cctools})
            hello.features.push_back(std::string(prefix) + parts.coprocesses->name());
    }
    return options;
}

}  // namespace

Worker::Worker(WorkerOptions options, net::frames::Transport& transport, net::frames::PeerId manager,
               node::launcher::Launcher& launcher, TicketClient* tickets,
               node::launcher::FunctionRunner* functions, Background* background)
    : Worker(std::move(options), net::session::Outbox(transport, manager),
             {launcher, tickets, functions, background, nullptr}) {}

Worker::Worker(WorkerOptions options, node::launcher::Launcher& launcher,
               node::launcher::FunctionRunner* functions, Background* background,
               functions::coprocess::Runner* coprocesses)
    : Worker(std::move(options), std::nullopt, {launcher, nullptr, functions, background, coprocesses}) {}

Worker::Worker(WorkerOptions options, std::optional<net::session::Outbox> outbox,
               const WorkerTasks::Parts& parts)
    : options_(completed(std::move(options), parts)),
      link_(options_.hello.identity, std::move(outbox)),
      heartbeat_(options_.beat, options_.manager_silence),
      tasks_(options_, link_, parts, [this](std::string why, WorkerTasks::LauncherIs launcher) {
          broken_ = broken_ || launcher == WorkerTasks::LauncherIs::broken;
          begin_to_leave(std::move(why));
      }) {}

void Worker::start(Instant now) {
    heartbeat_.start(now);
    net::messages::Hello hello = options_.hello;
    if (options_.leaves_at) hello.leaves_in = std::max(*options_.leaves_at - now, Duration{0});
    if (options_.job_started) hello.job_age = std::max(now - *options_.job_started, Duration{0});
    hello.process_age = node::process::age_of(::getpid());
    hello.clock = wall_now();
    link_.greet(std::move(hello), tasks_.held().keys());
    flush(now);
}

void Worker::connect(net::frames::Transport& transport, net::frames::PeerId manager,
                     const std::string& address, Instant now) {
    link_.connect(transport, manager);
    options_.hello.address = address;
    start(now);
}

void Worker::disconnect() {
    if (link_.has_manager()) link_.send_message(net::messages::Keeps{holding()});
    link_.flush();
    link_.disconnect();
}

// ---- messages ----

void Worker::on_frame(std::string_view bytes, Instant now) {
    heartbeat_.mark_heard(now);
    auto messages = net::messages::decode(bytes);
    if (!messages) {
        link_.note_malformed();
        ended_ = !link_.over_tcp();
        return;
    }
    for (net::messages::Message& message : *messages)
        if (!ended_ && !link_.dismissed() && !link_.refused())
            std::visit([&](auto& known) { on_message(known); }, message);
    // Sends the orders and kills that are buffered in the Launcher object.
    on_launcher(now);
}

void Worker::on_message(const net::messages::Welcome& message) {
    tasks_.limit_output(message.output_limit);
    if (sees_memory(message.memory_path, message.memory_mark))
        link_.send_message(net::messages::SharesMemory{});
    if (!link_.over_tcp() || link_.welcomed()) return;
    if (link_.has_forgotten_us(message) && !forget_manager()) return;
    link_.welcome(message);
    tasks_.welcome(message);
    link_.send_message(net::messages::Beat{});  // we have the token: from now on we can reconnect
    link_.resend_answers(message.answers_received);
    if (leaving_) link_.send_message(net::messages::Draining{});
    tasks_.begin_streams_anew();
}

void Worker::on_message(const net::messages::Refused& message) {
    link_.on(message);
    ended_ = !link_.over_tcp();  // the manager reports why, and drops us
}

void Worker::on_message(const net::messages::Dismiss& message) {
    link_.on(message);
    ranks_lost_ = message.ranks_lost;
    ended_ = !link_.over_tcp();
}

Status Worker::forget_manager() {
    link_.forget_manager();
    const Status again = tasks_.forget_manager();
    if (!again) {
        ended_ = broken_ = true;
        why_leaving_ = again.error().message;
    }
    return again;
}

void Worker::on_manager_left() {
    if (ended_) return;
    ended_ = manager_lost_ = ranks_lost_ = true;
}

void Worker::on_launcher(Instant now) {
    tasks_.handle_reports(now);
    if (!leaving_ && !ended_) {
        // handle_reports() passes new orders on, and was already called this turn.
        if (tasks_.claim(now)) on_launcher(now);
        tasks_.give_account(now);
    }
    leave_when_empty();
    flush(now);
}

// ---- leaving ----

void Worker::drain(Because why) {
    if (leaving_) return;
    idle_out_ = why == Because::idle;
    begin_to_leave(idle_out_ ? "no task arrived" : "drained");
}

// Tells the manager before returning tasks; otherwise it would lease them to us again.
void Worker::begin_to_leave(std::string why) {
    if (leaving_ || ended_) return;
    leaving_ = true;
    why_leaving_ = std::move(why);
    link_.send_if_welcomed(net::messages::Draining{});
    tasks_.take_no_more();
}

void Worker::leave_when_empty() {
    if (!leaving_ || !tasks_.empty() || ended_ || !link_.settled()) return;
    link_.send_goodbye({why_leaving_, idle_out_});
    ended_ = ranks_lost_ = true;  // the other ranks continue: MPI_Finalize would wait for them
}

// ---- the loop's side ----

void Worker::flush(Instant now) {
    if (link_.flush()) heartbeat_.sent(now);
}

void Worker::tick(Instant now) {
    if (ended_ || link_.over_tcp()) return;
    if (heartbeat_.manager_lost(now)) return on_manager_left();
    if (heartbeat_.due(now)) {
        link_.send_message(net::messages::Beat{});
        flush(now);
    }
}

std::optional<Instant> Worker::wakeup() const {
    if (ended_) return std::nullopt;
    std::optional<Instant> next = tasks_.wakeup();
    if (!link_.over_tcp()) earliest(next, heartbeat_.wakeup());
    return next;
}

}  // namespace wq::worker
