// What a run with --listen has besides: the port for workers over TCP, the contact file by which they find
// and trust it, and the entry under its name.
#pragma once

#include <memory>
#include <string>

#include "app/registry.h"
#include "base/result.h"
#include "cli/mark_file.h"
#include "cli/run_options.h"
#include "transport/tcp_listener.h"

namespace wq::cli {

class Listening {
  public:
    // Listens with a fresh key and certificate and writes RUN_DIR/contact. Errors: the port is in use, the
    // file cannot be written, the name cannot be registered.
    // `folder`: where its tasks run.
    static Result<std::unique_ptr<Listening>> open(const RunOptions& options,
                                                   const std::string& run_directory,
                                                   const std::string& folder);
    ~Listening();  // the contact is no use any more: it is removed
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

    transport::Transport& workers() { return *listener_; }
    const MarkFile& mark() const { return mark_; }
    // For the user: "listening on port 40123 ..., workers join by: work_queue_worker --contact FILE".
    std::string description() const;
    void tell(const app::Workload& load) {
        if (entry_) entry_->tell(load);
    }

  private:
    Listening(std::unique_ptr<transport::TcpListener> listener, std::string contact_path, MarkFile mark);

    std::unique_ptr<transport::TcpListener> listener_;
    std::string contact_path_;
    MarkFile mark_;  // of the run, for workers that see its folder
    std::unique_ptr<app::Registration> entry_;
};

}  // namespace wq::cli
