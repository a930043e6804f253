// A manager of a task list whose workers come over TCP, and only so; for tests of real processes.
//   test_manager RUN_DIR LIST|- CONTACT [--away S] [--scale X] [--port P] [--no-key] [--tls]
//                [--bind ADDRESS] [--identity KEY CERTIFICATE] [--files FOLDER]
// FOLDER: where the files of `#WQ` lines are; they are brought to all workers.
// Writes CONTACT once it listens, prints what it has to say, and ends with the run's exit code.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "app/away.h"
#include "app/background_thread.h"
#include "app/manager.h"
#include "app/rank_loop.h"
#include "app/source.h"
#include "app/task_table.h"
#include "stats/recorder.h"
#include "stats/run_directory.h"
#include "transport/contact.h"
#include "transport/tcp_listener.h"
#include "transport/tls_identity.h"

namespace {

using namespace wq;

struct Options {
    std::string run_directory, list, contact;
    double away_s = 10;
    double scale = 1;
    std::uint16_t port = 0;
    std::string bind = "127.0.0.1";
    bool key = true;
    bool tls = false;
    std::string files;
    std::string key_file, certificate_file;  // of TLS; none: a fresh one
};

Options read_options(int argc, char** argv) {
    Options options;
    if (argc < 4) std::exit(64);
    options.run_directory = argv[1], options.list = argv[2], options.contact = argv[3];
    for (int i = 4; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return ++i < argc ? std::strtod(argv[i], nullptr) : 0.0; };
        if (word == "--away") options.away_s = value();
        if (word == "--scale") options.scale = value();
        if (word == "--port") options.port = static_cast<std::uint16_t>(value());
        if (word == "--bind" && ++i < argc) options.bind = argv[i];
        if (word == "--files" && ++i < argc) options.files = argv[i];
        if (word == "--no-key") options.key = false;
        if (word == "--tls") options.tls = true;
        if (word == "--identity" && i + 2 < argc) {
            options.tls = true;
            options.key_file = argv[++i], options.certificate_file = argv[++i];
        }
    }
    return options;
}

Duration seconds(double count) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

std::unique_ptr<transport::TcpListener> listen(const Options& options, transport::Contact& contact) {
    transport::TcpListenOptions listening;
    listening.low_port = listening.high_port = options.port;
    if (options.key) listening.key = contact.key = transport::fresh_key();
    if (options.tls)
        listening.tls =
            (options.key_file.empty() ? transport::make_identity()
                                      : transport::read_identity(options.key_file, options.certificate_file))
                .or_throw();
    listening.bind = {options.bind};
    transport::TcpLimits& limits = listening.limits;
    for (Duration* time :
         {&limits.keep_alive, &limits.silence, &limits.handshake, &limits.stalled, &limits.linger})
        *time = std::chrono::duration_cast<Duration>(*time * options.scale);
    // It is the processor's, which no scale makes faster.
    limits.handshake = std::max<Duration>(limits.handshake, std::chrono::seconds(2));
    limits.keep_alive = app::keep_alive_of(seconds(options.away_s), limits.keep_alive);
    auto listener = transport::TcpListener::open(std::move(listening)).or_throw();
    contact.addresses = {options.bind};
    contact.port = listener->port();
    contact.tls = options.tls;
    contact.certificate_print = listener->certificate_print();
    contact.pid = ::getpid();
    contact.started = wall_now();
    return listener;
}

int run(const Options& options) {
    auto directory =
        stats::RunDirectory::take(options.run_directory, stats::RunDirectory::Use::fresh).or_throw();
    app::Signals signals = app::Signals::block().or_throw();
    transport::Contact contact;
    const auto listener = listen(options, contact);
    stats::RecorderOptions recording;
    recording.run_directory = directory.path();
    recording.run_id = "test";
    recording.list_name = options.list;
    recording.categories = {"default"};
    auto recorder = stats::open_recorder(recording).or_throw();

    app::ManagerOptions managing;
    managing.reactor.expected_workers = 0;
    managing.reactor.max_losses = 1'000'000;
    managing.reactor.away_limit = seconds(options.away_s);
    managing.reactor.wait_for_fitting = true;
    managing.hello_limit = seconds(30 * options.scale);
    app::TaskTable tasks(options.files);
    std::optional<app::BackgroundThread> files;
    if (!options.files.empty()) managing.background = &files.emplace();
    app::Manager manager(std::move(managing), tasks, *recorder, app::now());
    manager.expect_strangers(*listener);
    manager.say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
    app::SourceSpec spec;
    spec.path = options.list;
    const auto source = app::open_source(spec, {}, tasks).or_throw();
    transport::write_contact(options.contact, contact).or_throw();
    app::ManagerLoopParts parts{manager, *source, *recorder};
    parts.signals = &signals;
    parts.wires = {listener.get()};
    parts.files_of_manager = files ? &*files : nullptr;
    app::ManagerLoop loop(std::move(parts));
    const Status read = loop.run();
    files.reset();  // before the manager, whom it serves
    const Status written = recorder->close();
    if (!read || !written) return 70;
    std::printf("stale %llu\n", static_cast<unsigned long long>(manager.reactor().stale_reports()));
    return to_int(manager.finished()->code);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(read_options(argc, argv));
    } catch (const Failure& failure) {
        std::fprintf(stderr, "test_manager: %s\n", failure.error.message.c_str());
        return to_int(failure.error.code);
    }
}
