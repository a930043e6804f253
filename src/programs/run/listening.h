// Adds --listen to a run: the port for TCP workers, their contact file, and the mark of the run's folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "manager/status/records.h"
#include "net/contact/mark_file.h"
#include "net/contact/open_port.h"
#include "programs/run/run_options.h"

namespace wq::programs::run {

class Listening {
  public:
    // Listens with a new certificate, and with the password or a new key, and writes RUN_DIR/contact. Errors:
    // the port is in use, the file cannot be written, the name cannot be registered, those of
    // read_password(). `folder`: the run's tasks run there.
    static Result<std::unique_ptr<Listening>> open(const RunOptions& options,
                                                   const std::string& run_directory,
                                                   const std::string& folder);
    ~Listening();  // removes the contact file
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

    net::frames::Transport& workers() { return *port_.listener; }
    const std::string& contact_path() const { return contact_path_; }
    const net::contact::MarkFile& mark() const { return mark_; }
    // The message for the user: "listening on port 40123 ..., workers join by: work_queue_worker --contact
    // FILE".
    std::string description() const;
    // What to tell the user of connections: all that happened, or only the first worker that was refused.
    std::vector<std::string> take_news(bool all);
    void tell(const net::contact::Workload& load) {
        if (port_.entry) port_.entry->tell(load);
    }
    // To the catalog servers, if the run has a name and one is named (manager/status/announcing.h).
    void announce(const std::function<std::string()>& record) {
        if (port_.announcer) port_.announcer->take(record);
    }
    // To those who look at the run.
    manager::status::QueueOfStatus described() const;

  private:
    Listening(net::contact::OpenPort port, std::string contact_path, net::contact::MarkFile mark)
        : port_(std::move(port)), contact_path_(std::move(contact_path)), mark_(std::move(mark)) {}

    net::contact::OpenPort port_;
    std::string contact_path_;
    std::string of_catalogs_;      // for those who see no registry; empty: no catalog server is named
    net::contact::MarkFile mark_;  // for workers that see the run's folder
    bool told_refusal_ = false;
};

}  // namespace wq::programs::run
