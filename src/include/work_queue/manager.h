// A manager takes tasks from your program, dispatches them to workers, and returns each task when it has
// ended.
//
//   wq::Manager manager({.port = 0, .contact_file = "contact"});
//   for (const std::string& file : files) manager.submit(wq::Task("gzip " + file).tag(file));
//   while (!manager.empty())
//       if (auto task = manager.wait(5)) std::cout << task->tag() << ": " << task->result_str() << "\n";
//
// Workers join and leave over TCP (`work_queue_worker --contact contact`, or `work_queue_worker HOST PORT`).
// With an MpiSession, the other ranks of the job are workers, too. The manager runs on its own thread, so it
// serves workers while your program computes between two calls of wait().
//
// You may call all functions from any thread, also from `say` (but do not destroy the manager there). The
// constructor throws SetupError if it cannot start. No other function throws, except std::bad_alloc.
//
// If memory runs out, the manager ends and passes the reason to `say`. wait() then returns the tasks that
// have ended, and after them all others as TaskResult::forsaken with the reason. Every later call fails or
// returns nothing, and last_error() has the reason.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "work_queue/category.h"
#include "work_queue/error.h"
#include "work_queue/statistics.h"
#include "work_queue/task.h"

namespace [[gnu::visibility("default")]] wq {

class MpiSession;

// For wait(): no time limit.
inline constexpr int wait_for_task = -1;

struct ManagerOptions {
    // The TCP port that workers connect to. 0 or less: WORK_QUEUE_PORT if it is set, else the first free port
    // of the range.
    int port = 9123;
    // Lowest and highest port of the range; `port` is then ignored. Default: WORK_QUEUE_LOW_PORT and
    // WORK_QUEUE_HIGH_PORT (or TCP_LOW_PORT, TCP_HIGH_PORT), with 1024 and 32767 for one that is not set; if
    // neither is, from a random port on.
    std::optional<std::pair<int, int>> port_range{};
    // Descriptors of listening sockets, all on one port, for example inherited from the parent process. The
    // manager duplicates them and ignores `port` and `port_range`.
    std::vector<int> sockets{};
    // false: no TCP; only ranks are workers.
    bool listen = true;

    // Name by which `work_queue_worker -M NAME` finds this manager, in a folder that your machines share, and
    // at the catalog servers; empty: none. share/doc/names.md describes both.
    std::string name{};
    // Catalog servers to which a manager with a name announces itself: "HOST[:PORT],HOST[:PORT]". Empty:
    // CATALOG_HOST in the environment; without it, nothing is sent.
    std::string catalog{};
    // Workers serve managers with a higher priority first, among those whose name matches.
    int priority = 0;
    // How many tasks the program will still submit, as far as it knows, for those who look at the manager.
    int tasks_left = 0;
    // By which address of its record workers reach the manager: "by_ip" (its own addresses), "by_hostname",
    // or "by_apparent_ip" (the one that the catalog server sees).
    std::string preferred_connection = "by_ip";

    // Workers must know this password, and the manager proves to them that it knows it. The content of a file
    // is used verbatim, including its newline. Give only one of the two.
    std::string password{};
    std::string password_file{};
    // The manager writes this file at its start, with mode 0600: all addresses, the port, a key and the
    // certificate's digest. Everybody who can read it may join (`work_queue_worker --contact FILE`). Without
    // `ssl` and a password, the manager uses TLS and a random key. It removes the file at its end.
    std::string contact_file{};
    // TLS for every connection; without files, the manager makes a certificate at its start. Safe only with a
    // password or contact_file, or if workers check the certificate (--ssl-ca).
    bool ssl = false;
    std::string ssl_key{};  // PEM files; both or none
    std::string ssl_certificate{};
    // A manager without password and contact_file is open to everybody who can connect. It warns through
    // `say`, or on stderr once per process. true, or WORK_QUEUE_REQUIRE_KEY=1: the constructor throws
    // SetupError instead.
    bool require_key = false;
    // Who may list the queue, with the commands of its tasks. "open": everybody who reaches the port, also
    // programs that send plain text: CCTools' work_queue_status, curl, a browser. "key": only
    // work_queue_status of this release, which proves the key as a worker does. "off": nobody. "": "open" if
    // there is neither password nor contact_file, else "key". Factories see the needs of tasks in any case.
    std::string status{};

    // Log files, appended to; empty: none. share/doc/managers.md describes their formats. An HDF5 file holds
    // one run: an earlier file becomes FILE.1, FILE.2 and so on; a file of another kind is an error.
    std::string debug_log{};
    std::string debug_flags = "all";               // subsystems, separated by blanks
    std::uint64_t debug_rotate_bytes = 10u << 20;  // at this size it becomes FILE.old; 0: never
    std::string stats_log{};                       // HDF5 if the name ends in .h5, else text
    std::string transactions_log{};

    // The ranks of this job are workers, too. The session must outlive the manager and serves only one.
    MpiSession* mpi = nullptr;

    // Times in seconds.
    // A worker that is silent for the sum of both, at least 30 s, is disconnected. Interval 0: never.
    double keepalive_interval = 1;
    double keepalive_timeout = 29;
    // A disconnected worker is lost after this time, at least 10 s, and its tasks are requeued. The worker
    // kills them earlier: away_limit - 2 s after it last heard from the manager. If its process was killed,
    // its tasks are requeued as soon as they have ended. 0: the worker is lost at once, and may run its tasks
    // until it notices, up to 30 s. Values between 0 and 10 are an error. tune("reconnect-timeout", seconds)
    // changes it for workers that join later.
    double away_limit = 60;

    // true: TCP workers end with the manager; false: they look for another manager.
    bool shutdown = false;

    // Bytes that workers and ranks keep of each stream of a task, at most 1 GiB. The rest is only counted; a
    // marker in the output says so. Above 256 MiB, streams of commands larger than 16 MiB are files in
    // TMPDIR.
    std::uint64_t output_limit = 8u << 20;

    // Receives lines for the user: errors, warnings, messages of workers; empty: they go to stderr. The
    // manager calls it on a separate thread, one line at a time, so it may call the manager; it must not
    // throw. It may be called before the constructor returns, but not after the destructor returns.
    std::function<void(const std::string&)> say{};
};

class Manager {
  public:
    // Starts to listen and to serve workers. Throws SetupError.
    explicit Manager(ManagerOptions options = {});
    // Kills tasks that have not ended.
    ~Manager();
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    int port() const;          // the port for workers; 0: the manager does not listen
    std::string name() const;  // "": none
    // "10.0.0.7:9123", "[fe80::1%eth0]:9123": all addresses for workers, the likeliest first.
    std::vector<std::string> addresses() const;
    // Writes a contact file; see ManagerOptions::contact_file. Without a key it has only the addresses.
    // false: it cannot be written; last_error() says why.
    bool write_contact(const std::string& path) const;
    // Takes name, catalog, priority, tasks_left, preferred_connection, password, status and logs of these
    // options in place of the earlier ones; the rest is not looked at.
    // A password ends connections that were made without it. An earlier log is written on. false: nothing or
    // only a part was taken; last_error() says why.
    bool change(const ManagerOptions& to);

    // ---- tasks ----

    // Returns the task's id, from 1. 0: refused (an empty range, a call without a function name, a need below
    // -1, a manager that has ended); last_error() says why. Never waits.
    std::int64_t submit(Task task);
    // submit(Task::range(...)): submits last - first calls at once. Returns the id of the first call; the
    // call with index i has id + (i - first). wait() returns the progress of the range as Tasks of kind
    // range, and each failed call as a Task of kind call.
    std::int64_t submit_range(std::string function, std::int64_t first, std::int64_t last,
                              CallMode mode = CallMode::fork);

    // Returns the next ended task, in the order of their ends. Waits at most this many seconds.
    // wait_for_task: no limit; as in Work Queue, 0 means 1 s and other negative numbers 5 s. Returns nothing
    // on timeout, and at once if no task is left.
    std::optional<Task> wait(int timeout_seconds = wait_for_task);
    // The same for tasks with this tag ("": without a tag); other tasks stay for other calls. Returns nothing
    // at once if no task with this tag is left.
    std::optional<Task> wait_for_tag(const std::string& tag, int timeout_seconds = wait_for_task);
    // The same with an exact time; zero or less: does not wait; ten years or more: no limit.
    std::optional<Task> wait_at_most(std::chrono::nanoseconds limit);
    std::optional<Task> wait_for_tag_at_most(const std::string& tag, std::chrono::nanoseconds limit);

    // After tune("wait-retrieve-many", 1), wait() returns a task only when all have ended, or its time is
    // over. So does this: false: some have not ended within this time. For waits in parts.
    bool gather(std::chrono::nanoseconds limit);

    // True if no task is left: none waits, runs, or has a result for wait().
    bool empty() const;
    // How many more tasks would keep all workers busy; 0: enough. See tune("hungry-minimum").
    int hungry() const;
    TaskState task_state(std::int64_t id) const;

    // ---- cancelling, in any state but done: a running task is killed; the call returns it at once ----

    // Any id of a range cancels the whole range and returns its progress; its failed calls stay for wait().
    std::optional<Task> cancel_by_taskid(std::int64_t id);
    // Cancels one task with this tag ("": without a tag); call again for the next.
    std::optional<Task> cancel_by_tag(const std::string& tag);
    std::optional<Task> cancel_by_tasktag(const std::string& tag) { return cancel_by_tag(tag); }
    std::vector<Task> cancel_by_category(const std::string& category);
    std::vector<Task> cancel_all();

    // ---- workers ----

    // Asks `count` workers (0: all) to end, idle ones first. They finish their running tasks. Returns how
    // many were asked.
    int shutdown_workers(int count);
    // Workers of this host get no more tasks, and end when their tasks have ended; false: they get tasks
    // again. Returns the number of workers of that host.
    int drain(const std::string& hostname, bool on = true);

    // Blocks a host, by the name in Task::hostname(). Its workers stay and finish their tasks, but get no new
    // ones; the same applies to workers that join from it later. With a timeout, the block lasts this many
    // seconds; below 1: until you unblock the host. The last call for a host counts.
    void block_host(const std::string& hostname);
    void block_host_with_timeout(const std::string& hostname, std::int64_t seconds);
    void unblock_host(const std::string& hostname);
    void unblock_all();
    std::vector<std::string> blocked_hosts() const;
    // Older names.
    void blacklist_add(const std::string& hostname) { block_host(hostname); }
    void blacklist_add_with_timeout(const std::string& hostname, std::int64_t seconds) {
        block_host_with_timeout(hostname, seconds);
    }
    void blacklist_remove(const std::string& hostname) { unblock_host(hostname); }
    void blacklist_clear() { unblock_all(); }

    // ---- tasks that take too long (fast abort) ----

    // Kills a task that runs longer than `multiplier` times the mean of its category (after 10 successes),
    // and runs it again, if possible on another host. The limit doubles with each kill. Kills count towards
    // max_retries(). Multipliers below 1 turn it off (default). Returns whether fast abort is on now.
    bool activate_fast_abort(double multiplier);
    // Replaces the multiplier for one category. 0: off for it; other values below 1: same as all categories.
    bool activate_fast_abort_category(const std::string& category, double multiplier);

    // ---- resources by category ----
    //
    // A category's settings apply if a task specifies nothing. "" means the category "default", except in
    // specify_category_mode(). A new call replaces the earlier one; waiting tasks get the new settings,
    // running ones keep their allocation. share/doc/resources.md has the rules. false: refused (invalid
    // amount, unknown resource or mode); last_error() and a line to `say` have the reason.

    // Requests of each task of the category; in modes other than `fixed`, its maximum allocation. -1 and 0:
    // not specified.
    bool specify_category_max_resources(const std::string& category, const TaskResources& most);
    // The minimum allocation of the category's tasks.
    bool specify_category_min_resources(const std::string& category, const TaskResources& least);
    // The allocation of first attempts until enough tasks are measured, in modes other than `fixed`. Default:
    // the maximum, or a whole worker.
    bool specify_category_first_allocation_guess(const std::string& category, const TaskResources& first);
    // The same for the category "default".
    bool specify_max_resources(const TaskResources& most) { return specify_category_max_resources("", most); }
    bool specify_min_resources(const TaskResources& least) {
        return specify_category_min_resources("", least);
    }
    // How the category's allocations are found. "": for all categories that have no settings and no tasks
    // yet. Modes other than `fixed` need enable_monitoring(); without it, tasks get the maximum or whole
    // workers, with one warning.
    bool specify_category_mode(const std::string& category, AllocationMode mode);
    // Maximum number of its tasks that run at once; 0: none may run; below 0 (default): no limit.
    void specify_category_max_concurrent(const std::string& category, int most);
    // Whether modes other than `fixed` size this resource: "cores", "memory", "disk" (default: true), or
    // "gpus" (never measured).
    bool enable_category_resource(const std::string& category, const std::string& resource, bool on = true);
    // Loads the measurements of an earlier run, which enable_monitoring() wrote to FOLDER/wq-PID.summaries.
    // All categories known then get the maximum `most`, unless it is empty. false also if there is no such
    // file.
    bool initialize_categories(const std::string& summaries_file, const TaskResources& most = {});
    // All categories with settings or tasks, as `work_queue_status -A` shows them.
    std::vector<CategorySummary> categories() const;
    // All workers, by their ids.
    std::vector<WorkerSummary> workers() const;

    // ---- monitoring ----

    // Measures all processes of tasks that start from now on; see Task::resources_measured(). With
    // `watchdog`, a task that exceeds its allocation of cores, memory or disk is killed, with
    // TaskResult::resource_exhaustion unless its category allows a larger attempt. Without monitoring,
    // allocations are not enforced. `folder` is created if needed. It gets a report wq-PID-task-ID.summary
    // for each task that ran, before wait() returns the task, and a line in wq-PID.summaries. false: the
    // folder cannot be written.
    bool enable_monitoring(const std::string& folder = {}, bool watchdog = true);
    // The folder also gets wq-PID-task-ID.series, the usage of a task once a second, and
    // wq-PID-task-ID.debug.
    bool enable_monitoring_full(const std::string& folder = {}, bool watchdog = true);

    // ---- statistics and settings ----

    Statistics stats() const;
    // Statistics of one category's tasks; those of workers and of the manager are for all categories.
    Statistics stats_category(const std::string& category) const;

    // Says in one line why the task does not run, or where it runs, such as "not now: it will get 4 cores,
    // 8000 MB memory; 2 workers that could run it are busy". For a range: about its first call. "": no such
    // task, or wait() has returned it.
    std::string why(std::int64_t id) const;

    // Sets a parameter by its name in Work Queue, for example tune("hungry-minimum", 20).
    // share/doc/managers.md lists them. false, with a line to `say`: unknown name, or value out of bounds.
    bool tune(const std::string& name, double value);

    // The reason of this thread's last failed call of submit(), submit_range(), tune(), write_contact() or a
    // function for categories or monitoring, of any manager. For a manager that has failed, the reason of any
    // call. Successful calls do not change it. "": none failed.
    const std::string& last_error() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gnu::visibility("default")]]wq
