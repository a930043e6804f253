// A factory: submits workers to a batch system while it runs, as many as the managers have work for, and
// removes them at its end. It is the program work_queue_factory as a child process, so its options and files
// are as described in share/doc/cluster.md.
//
//   wq::Manager manager({.port = 0});
//   wq::Factory workers({.batch_type = "slurm", .manager = &manager, .settings = {.max_workers = 20, .cores =
//   4}}); workers.start();
//   ... submit tasks, and wait for them ...
//   workers.stop();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "work_queue/error.h"

namespace [[gnu::visibility("default")]] wq {

class Manager;

// What can be changed while it runs. Memory and disk in MB of 2^20 bytes, times in seconds.
struct FactorySettings {
    int min_workers = 5;
    int max_workers = 100;
    int workers_per_cycle = 5;   // submitted and not connected at a time; 0: no limit
    int tasks_per_worker = 0;    // at once; 0: by the sizes of tasks and workers
    bool capacity = false;       // no more workers than the managers can keep busy
    double timeout = 300;        // an idle worker leaves after this time
    double factory_timeout = 0;  // the factory ends if no manager has a task for this time; 0: never
    // Of each worker; 0: what the batch system gives. `autosize`: HTCondor's whole slot.
    int cores = 0;
    std::int64_t memory = 0;
    std::int64_t disk = 0;
    int gpus = 0;
    bool autosize = false;
    std::string worker_extra_options{};  // of work_queue_worker, as a shell reads them
    std::string condor_requirements{};   // of machines
};

struct FactoryOptions {
    // slurm, condor, pbs, torque, uge, lsf, local (processes of this machine), or the path of a driver.
    std::string batch_type = "local";
    // Name the managers in one of these ways. `manager`: of this process; it must live until stop().
    const Manager* manager = nullptr;
    std::string manager_name{};  // a regular expression
    std::string manager_host{};
    int manager_port = 0;
    std::string contact_file{};

    FactorySettings settings{};
    std::string password_file{};
    bool ssl = false;
    std::string ssl_ca{};         // PEM file of authorities that vouch for the manager
    std::string factory_name{};   // its workers have the feature factory:NAME; empty: one is made up
    std::string scratch_dir{};    // of scripts, logs and jobs; the nodes must see it. Empty: ./wq-factory-UID
    std::string worker_binary{};  // empty: beside work_queue_factory
    std::string factory_binary{};        // empty: beside this program or library, or in PATH
    std::vector<std::string> options{};  // more of work_queue_factory's

    // Receives lines for the user, on a separate thread; empty: they go to stderr. It must not throw, nor
    // call this factory.
    std::function<void(const std::string&)> say{};
};

// Its last look at tasks and workers.
struct FactoryReport {
    std::int64_t tasks_waiting = 0;
    std::int64_t tasks_on_workers = 0;
    std::int64_t tasks_unfit = 0;  // waiting tasks that no worker of this size can run
    std::int64_t workers_wanted = 0;
    std::int64_t workers_connected = 0;  // of this factory
    std::int64_t workers_starting = 0;   // their jobs run
    std::int64_t workers_pending = 0;    // their jobs wait
    std::string held{};                  // why none is submitted although some are missing; empty: no reason
};

class Factory {
  public:
    // Starts nothing. Throws SetupError if the managers are named in no way, or in several.
    explicit Factory(FactoryOptions options);
    ~Factory();  // stop()
    Factory(const Factory&) = delete;
    Factory& operator=(const Factory&) = delete;

    // Returns after the first look at the managers, at most a second after it has begun, or after 31 s if it
    // says nothing. Throws SetupError if
    // work_queue_factory is missing, cannot be started or ends at once, or the folder cannot be written. What
    // it finds wrong later goes to `say`. No effect while it runs.
    void start();
    // Ends it: its pending jobs are removed, and its workers end. Waits for that, at most 30 s. No effect
    // without start().
    void stop();
    bool running() const;

    FactorySettings settings() const;
    // In use from its next look at the managers. Returns whether the settings could be written.
    bool set(const FactorySettings& settings);

    std::optional<FactoryReport> report() const;  // nothing before its first look

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gnu::visibility("default")]]wq
