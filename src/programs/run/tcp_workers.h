// Adds --listen to a run: the port for TCP workers, their contact file, and the mark of the run's folder.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "factory/factory_process.h"
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
    void publish_load(const net::contact::Workload& load) {
        if (port_.entry) port_.entry->publish_load(load);
    }
    // To the catalog servers, if the run has a name and one is named (manager/status/lister.h).
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
    bool printed_refusal_ = false;
};

// Adds --grow to a run: a factory that submits workers for it.

// Whether a factory takes these options. Error (usage): one line.
Status check(const Grow& grow);

class Growth {
  public:
    // `contact`: the run's contact file. The factory's folder is RUN_DIR/workers. Errors: work_queue_factory
    // is not there or cannot be started.
    static Result<Growth> start(const Grow& grow, const std::string& run_directory,
                                const std::string& contact);

    // `connected`: workers, now.
    void handle_reports(const std::function<void(const std::string&)>& say, std::int64_t connected);
    const std::optional<wq::factory::CycleReport>& report() const { return factory_.report(); }
    // "3 workers pending": of the batch system, for the progress line; why none is submitted. Empty: none
    // waits.
    std::string text() const;
    std::int64_t pending() const;  // workers that were submitted and have not joined
    void begin_end() const { factory_.ask_to_stop(); }
    // Waits until the workers are removed.
    void end(const std::function<void(const std::string&)>& say);

  private:
    explicit Growth(wq::factory::FactoryProcess factory) : factory_(std::move(factory)) {}

    wq::factory::FactoryProcess factory_;
    bool printed_end_ = false;
    WallMicros reported_ = 0;          // when the last report was made
    std::int64_t connected_then_ = 0;  // workers, when it was read
    std::int64_t connected_ = 0;       // now
};

}  // namespace wq::programs::run
