// catalog_server: holds what managers announce, for workers and people.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/read_write.h"
#include "base/shortage.h"
#include "base/signals.h"
#include "base/units.h"
#include "net/catalog_server/catalog_server.h"
#include "programs/status/catalog_options.h"
#include "records/journal/run_status.h"

namespace {

using namespace wq;

// Parts of it are of strangers.
void complain(const std::string& text) {
    constexpr std::size_t longest = 1000;
    std::fprintf(stderr, "catalog_server: %s\n", line_for_message(text, longest).c_str());
}

// Whoever waits for the file sees all of it.
void write_number(const std::string& path, long number) {
    if (path.empty()) return;
    const std::string beside = path + ".new";
    std::ofstream(beside) << number;
    std::error_code error;
    std::filesystem::rename(beside, path, error);
    if (error) throw Failure{{ExitCode::usage, "cannot write " + path + ": " + error.message()}};
}

// The daemon's side of a fork; the other one ends with 0 once its child listens, or with the child's code.
class Daemon {
  public:
    explicit Daemon(bool wanted) {
        if (!wanted) return;
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw Failure{refused_by_system("no pipe")};
        const pid_t child = ::fork();
        if (child < 0) throw Failure{refused_by_system("no process")};
        ::close(ends[child == 0 ? 0 : 1]);
        if (child != 0) {
            char code = to_int(ExitCode::refused);
            ::_exit(::read(ends[0], &code, 1) == 1 ? code : to_int(ExitCode::refused));
        }
        ::setsid();
        start_pipe_ = ends[1];
    }
    void begins() {
        if (start_pipe_ < 0) return;
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        for (const int standard : {0, 1, 2}) ::dup2(nothing, standard);
        report_start(0);
    }
    void report_start(int code) {
        if (start_pipe_ < 0) return;
        const char byte = static_cast<char>(code);
        static_cast<void>(!::write(start_pipe_, &byte, 1));
        ::close(std::exchange(start_pipe_, -1));
    }

  private:
    int start_pipe_ = -1;
};

void serve(const programs::status::CatalogServerCommand& command, Daemon& daemon) {
    const auto signals = Signals::block().or_throw();
    block_broken_pipes();
    for (const std::string& remark : command.remarks) complain(remark);
    auto server = net::catalog_server::CatalogServer::open(command.settings, complain).or_throw();
    write_number(command.port_file, server.port());
    write_number(command.ssl_port_file, server.ssl_port());
    write_number(command.pid_file, ::getpid());
    complain("queries at port " + std::to_string(server.port()) + ", updates there by UDP and at port " +
             std::to_string(server.port() + 1) + " by TCP" +
             (server.ssl_port() != 0 ? ", HTTPS at port " + std::to_string(server.ssl_port()) : ""));
    daemon.begins();
    server.run(signals.descriptor());
}

int run(programs::status::CatalogServerCommand& command) {
    command.settings.version = WQ_VERSION;
    command.settings.owner = records::journal::user_name();
    if (command.settings.name.empty()) command.settings.name = records::journal::host_name();
    Daemon daemon(command.background);
    try {
        serve(command, daemon);
        return 0;
    } catch (const Failure& failure) {
        complain(failure.error.message);
        daemon.report_start(to_int(failure.error.code));
        return to_int(failure.error.code);
    } catch (const std::exception& error) {
        const Error why = unexpected(error);
        complain(why.message);
        daemon.report_start(to_int(why.code));
        return to_int(why.code);
    }
}

}  // namespace

int main(int argc, char** argv) {
    auto command = programs::status::parse_catalog_server_options(argc, argv);
    if (!command) {
        complain(command.error().message);
        return to_int(command.error().code);
    }
    if (command->help)
        std::fputs(programs::status::catalog_server_help().c_str(), stdout);
    else if (command->version)
        std::puts("catalog_server " WQ_VERSION);
    else
        return run(*command);
    return after_output("catalog_server", 0);
}
