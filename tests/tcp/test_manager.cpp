// A manager of a task list with TCP workers only, for tests of real processes.
//   test_manager RUN_DIR LIST|- CONTACT [--away S] [--scale X] [--port P] [--no-key] [--tls]
//                [--bind ADDRESS] [--identity KEY CERTIFICATE] [--files FOLDER]
// FOLDER: where the files of `#WQ` lines are; they are transferred to all workers.
// Writes CONTACT once it listens, prints its messages, and exits with the run's code.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "base/background.h"
#include "manager/manager.h"
#include "manager/run/rank_loop.h"
#include "manager/run/source.h"
#include "manager/task_table.h"
#include "net/frames/contact.h"
#include "net/frames/tcp_listener.h"
#include "net/frames/tls_identity.h"
#include "records/journal/run_directory.h"
#include "records/recorder/recorder.h"

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
    std::string key_file, certificate_file;  // for TLS; none: a new one
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

std::unique_ptr<net::frames::TcpListener> listen(const Options& options, net::frames::Contact& contact) {
    net::frames::TcpListenOptions listening;
    listening.low_port = listening.high_port = options.port;
    if (options.key) listening.key = contact.key = net::frames::fresh_key();
    if (options.tls)
        listening.tls = (options.key_file.empty()
                             ? net::frames::make_identity()
                             : net::frames::read_identity(options.key_file, options.certificate_file))
                            .or_throw();
    listening.bind = {options.bind};
    net::frames::TcpLimits& limits = listening.limits;
    for (Duration* time :
         {&limits.keep_alive, &limits.silence, &limits.handshake, &limits.stalled, &limits.linger})
        *time = std::chrono::duration_cast<Duration>(*time * options.scale);
    // This is CPU time, which no scale makes faster.
    limits.handshake = std::max<Duration>(limits.handshake, std::chrono::seconds(2));
    auto listener = net::frames::TcpListener::open(std::move(listening)).or_throw();
    contact.addresses = {options.bind};
    contact.port = listener->port();
    contact.tls = options.tls;
    contact.certificate_digest = listener->certificate_digest();
    contact.pid = ::getpid();
    contact.started = wall_now();
    return listener;
}

int run(const Options& options) {
    auto directory = records::journal::RunDirectory::take(options.run_directory,
                                                          records::journal::RunDirectory::Use::fresh)
                         .or_throw();
    Signals signals = Signals::block().or_throw();
    net::frames::Contact contact;
    const auto listener = listen(options, contact);
    records::recorder::RecorderOptions recording;
    recording.run_directory = directory.path();
    recording.run_id = "test";
    recording.list_name = options.list;
    recording.categories = {"default"};
    auto recorder = records::recorder::open_recorder(recording).or_throw();

    manager::ManagerOptions managing;
    managing.reactor.expected_workers = 0;
    managing.reactor.max_losses = 1'000'000;
    managing.disconnect_limit = seconds(options.away_s);
    managing.reactor.wait_for_fitting = true;
    managing.hello_limit = seconds(30 * options.scale);
    manager::TaskTable tasks(options.files);
    std::optional<BackgroundThread> files;
    if (!options.files.empty()) managing.background = &files.emplace();
    manager::Manager manager(std::move(managing), tasks, *recorder, manager::run::now());
    manager.expect_tcp_workers(*listener);
    manager.say = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
    manager::run::SourceSpec spec;
    spec.path = options.list;
    const auto source = manager::run::open_source(spec, {}, tasks).or_throw();
    net::frames::write_contact(options.contact, contact).or_throw();
    manager::run::ManagerLoopParts parts{manager, *source, *recorder};
    parts.signals = &signals;
    parts.wires = {listener.get()};
    parts.files_of_manager = files ? &*files : nullptr;
    manager::run::ManagerLoop loop(std::move(parts));
    const Status read = loop.run();
    files.reset();  // before the manager, which it serves
    const Status written = recorder->close();
    if (!read || !written) return 70;
    std::printf("stale %llu\n", static_cast<unsigned long long>(manager.reactor().stale_reports()));
    return to_int(manager.finished()->code);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return ::run(read_options(argc, argv));
    } catch (const Failure& failure) {
        std::fprintf(stderr, "test_manager: %s\n", failure.error.message.c_str());
        return to_int(failure.error.code);
    }
}
