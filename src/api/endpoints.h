// Where workers reach a program's manager: the port, the ranks of an MpiSession, and the worker of this rank.
// The ProgramManager borrows them, so they are made before it and destroyed after it.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/lines.h"
#include "api/listening.h"
#include "api/program_manager.h"
#include "base/background.h"
#include "base/result.h"
#include "manager/run/own_worker.h"
#include "work_queue/manager.h"

namespace wq::api {

// Throws SetupError, for a manager that cannot start.
[[noreturn]] void refuse(const Error& error);

class Endpoints {
  public:
    explicit Endpoints(ManagerOptions options);
    Endpoints(const Endpoints&) = delete;
    Endpoints& operator=(const Endpoints&) = delete;

    // Opens the port and takes the ranks, once. Returns the options of the ProgramManager. Throws SetupError.
    ProgramManagerOptions open();
    // Once the manager has begun: tells the ranks, and writes the contact file. Throws SetupError.
    void publish();
    // Once the manager has ended: prints the waiting lines, then removes the contact file.
    void close(bool lost_a_rank);

    // As in wq::Manager.
    int port() const;
    std::string name() const;
    std::vector<std::string> addresses() const;
    Status write_contact(const std::string& path) const;
    Status change(const ManagerOptions& to, ProgramManager& program);

    // Prints a line for the user. Callable on any thread; never waits.
    const std::function<void(const std::string&)> say = [this](const std::string& line) {
        lines_.add_line(line);
    };

  private:
    void open_port(ProgramManagerOptions& program);
    void take_ranks(ProgramManagerOptions& program);
    manager::status::QueueOfStatus described();
    Status change_access(const ManagerOptions& to, ProgramManager& program);

    ManagerOptions options_;
    Lines lines_;
    mutable std::mutex changing_;  // of the name and the password in `options_` and `listening_`
    std::optional<Listening> listening_;
    manager::status::QueueOfStatus known_;           // as described() said last
    net::frames::TcpListener* transport_ = nullptr;  // for the manager's thread
    std::optional<BackgroundThread> own_files_;      // of the own worker
    std::optional<manager::run::OwnWorker> own_;
};

}  // namespace wq::api
