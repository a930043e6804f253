// A manager: it takes tasks from your program, keeps workers busy with them, and gives the tasks back when
// they have ended.
//
//   wq::Manager manager({.port = 0, .contact_file = "contact"});
//   for (const std::string& file : files) manager.submit(wq::Task("gzip " + file).tag(file));
//   while (!manager.empty())
//       if (auto task = manager.wait(5)) std::cout << task->tag() << ": " << task->result_str() << "\n";
//
// Workers come and go over TCP (`work_queue_worker --contact contact`, or `work_queue_worker HOST PORT`) and,
// with an MpiSession, on the ranks of the same job. The manager works on a thread of its own: workers are
// served, fed and heard while your program computes between two calls of wait().
//
// All functions may be called from any thread, also from within `say` (but there the manager must not be
// destroyed). The constructor throws SetupError where it cannot begin; nothing else throws (but
// std::bad_alloc).
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

// For wait(): as long as it takes.
inline constexpr int wait_for_task = -1;

struct ManagerOptions {
    // The TCP port that workers connect to. 0 or less: WORK_QUEUE_PORT where that is set, else the first free
    // one of the range.
    int port = 9123;
    // Lowest and highest port to look for a free one in; else WORK_QUEUE_LOW_PORT and WORK_QUEUE_HIGH_PORT
    // (or TCP_LOW_PORT, TCP_HIGH_PORT), else 1024 to 32767. Where it is given, `port` is not looked at.
    std::optional<std::pair<int, int>> port_range{};
    // Descriptors of sockets that listen already, all on one port, as who starts the program may hand them to
    // it: the manager takes duplicates, and `port` and `port_range` are not looked at.
    std::vector<int> sockets{};
    // false: no TCP at all; only ranks work.
    bool listen = true;

    // Under which `work_queue_worker -M NAME` finds this manager, in the folder that share/doc/workers.md
    // names; empty: it does not.
    std::string name{};

    // Who knows it may work, and the manager proves to workers that it knows it too. A file's content is
    // taken verbatim, with its newline. Not both.
    std::string password{};
    std::string password_file{};
    // Written at the start, mode 0600: all addresses, the port, a key and the certificate's print. Whoever
    // can read it may work (`work_queue_worker --contact FILE`): TLS and a random key are used where neither
    // ssl nor a password was given. Removed at the end.
    std::string contact_file{};
    // TLS for every connection; with no files, by a certificate made at the start. With password_file or a
    // contact_file nothing else is needed.
    bool ssl = false;
    std::string ssl_key{};  // PEM files; both or none
    std::string ssl_certificate{};
    // A manager without password, key or contact_file is open to whoever can connect, and says so once on
    // stderr. true, or WORK_QUEUE_REQUIRE_KEY=1: it refuses to start instead.
    bool require_key = false;

    // Logs, appended to; empty: none. See share/doc/managers.md for their formats. Statistics as HDF5 are of
    // one run: a file of an earlier one becomes FILE.1, FILE.2, ..., and a file of another kind is refused.
    std::string debug_log{};
    std::string debug_flags = "all";               // subsystems, separated by blanks
    std::uint64_t debug_rotate_bytes = 10u << 20;  // then it becomes FILE.old; 0: never
    std::string stats_log{};                       // HDF5 where the name ends in .h5, else text
    std::string transactions_log{};

    // The ranks of this job work too; it must outlive the manager and serves one manager.
    MpiSession* mpi = nullptr;

    // Times, all in seconds.
    // A worker that was not heard for both together, or 90 s where that is more, is away. An interval of 0:
    // never by its silence.
    double keepalive_interval = 30;
    double keepalive_timeout = 60;
    // s, at least 10: after so long a worker whose link was cut is lost, and its tasks go to others. It has
    // ended them before: 2 s less after it heard the manager last. 0: it is lost at once, and may run them on
    // until it notices, up to 90 s. Others are refused.
    double away_limit = 60;

    // At the end of the manager, workers over TCP end too; false: they look for other managers.
    bool shutdown = false;

    // Bytes that all workers, ranks too, keep of each stream of a task, at most 256 MiB; what is beyond is
    // counted, and its place marked.
    std::uint64_t output_limit = 8u << 20;

    // Lines for the user: trouble, warnings, remarks of workers; empty: they go to stderr. Called for one
    // line after the other, on a thread of its own, so that it may call the manager; it must not throw. Those
    // of the constructor may come before that has returned; the last ones come before the destructor returns.
    std::function<void(const std::string&)> say{};
};

class Manager {
  public:
    // Listens and serves from here on. Throws SetupError.
    explicit Manager(ManagerOptions options = {});
    // Tasks that have not ended are given up and killed.
    ~Manager();
    Manager(const Manager&) = delete;
    Manager& operator=(const Manager&) = delete;

    int port() const;                 // that workers connect to; 0: it does not listen
    const std::string& name() const;  // "": it has none
    // "10.0.0.7:9123", "[fe80::1%eth0]:9123": all that workers may try, the likeliest first.
    std::vector<std::string> addresses() const;
    // Writes a contact file; see ManagerOptions::contact_file. Of a manager without a key it has only the
    // addresses. false: it could not be written, and last_error() says why.
    bool write_contact(const std::string& path) const;

    // ---- tasks ----

    // Returns the task's id, from 1; 0: refused (an empty range, a call without the name of a function, a need
    // below -1, a manager that has ended), and last_error() says why. Never waits.
    std::int64_t submit(Task task);
    // submit(Task::range(...)): one submission of last - first calls. Its id is that of its first call; the
    // call with index i has the id + (i - first). wait() returns, as they come, Tasks of kind range with the
    // progress of the whole, and each call that failed as a Task of kind call.
    std::int64_t submit_range(std::string function, std::int64_t first, std::int64_t last,
                              CallMode mode = CallMode::fork);

    // The next task that has ended, in the order of their ends. Waits at most so many seconds; wait_for_task:
    // as long as it takes; 0: 1 s; other negative ones: 5 s, as Work Queue has it. Returns nothing when the
    // time is over, and at once when no task is left.
    std::optional<Task> wait(int timeout_seconds = wait_for_task);
    // The same for tasks of one tag ("": those without one); the others stay for other calls. Returns nothing
    // at once when no task of that tag is left.
    std::optional<Task> wait_for_tag(const std::string& tag, int timeout_seconds = wait_for_task);
    // The same with an exact time; zero or less: without waiting; ten years or more: as long as it takes.
    std::optional<Task> wait_at_most(std::chrono::nanoseconds limit);

    // No task is left: neither running or waiting, nor with a result that wait() would return.
    bool empty() const;
    // How many more tasks it wants so that no worker runs dry; 0: it has enough. See tune("hungry-minimum").
    int hungry() const;
    TaskState task_state(std::int64_t id) const;

    // ---- cancelling: in any state but done. What runs is killed. The task is returned at once. ----

    // Of a range: the whole range, with what it had done; calls of it that had failed stay for wait().
    std::optional<Task> cancel_by_taskid(std::int64_t id);
    // One of this tag ("": one without any); call again for the next.
    std::optional<Task> cancel_by_tag(const std::string& tag);
    std::optional<Task> cancel_by_tasktag(const std::string& tag) { return cancel_by_tag(tag); }
    std::vector<Task> cancel_by_category(const std::string& category);
    std::vector<Task> cancel_all();

    // ---- workers ----

    // Asks so many workers to end, idle ones first; what they run they finish. 0: all. Returns how many were
    // asked.
    int shutdown_workers(int count);
    // The workers of a host get no more tasks, and end when what they have is done; false: they do again.
    // Returns how many workers there are of that host.
    int drain(const std::string& hostname, bool on = true);

    // The workers of a host, as Task::hostname() has it, get no more tasks; what they run goes on. They stay,
    // and others may come from there. For so many seconds; below 1: until it is taken back. What is said of a
    // host replaces what was said before.
    void block_host(const std::string& hostname);
    void block_host_with_timeout(const std::string& hostname, std::int64_t seconds);
    void unblock_host(const std::string& hostname);
    void unblock_all();
    std::vector<std::string> blocked_hosts() const;
    // The older names.
    void blacklist_add(const std::string& hostname) { block_host(hostname); }
    void blacklist_add_with_timeout(const std::string& hostname, std::int64_t seconds) {
        block_host_with_timeout(hostname, seconds);
    }
    void blacklist_remove(const std::string& hostname) { unblock_host(hostname); }
    void blacklist_clear() { unblock_all(); }

    // ---- tasks that take too long (fast abort) ----

    // A task that runs for more than `multiplier` times the mean of its category, of which 10 have
    // succeeded, is killed and runs again, on another host where there is one; each time it may take twice as
    // long as before. Its max_retries() count that, too. 1 or more: so many times; everything else: as long
    // as it takes. Returns whether it is on now.
    bool activate_fast_abort(double multiplier);
    // The same for one category, instead of what holds for all. 0: its tasks are never ended; 1 or more: so
    // many times; everything else: as for all.
    bool activate_fast_abort_category(const std::string& category, double multiplier);

    // ---- what tasks get, by their category ----
    //
    // What a task says itself is its own; what it does not say, its category says. "" is the category
    // "default", but for specify_category_mode(). Said again, it replaces what was said before; tasks that
    // wait follow, those that run keep what they have. share/doc/resources.md has the rules. false: refused
    // (an amount that is none, no such resource, no such mode), and last_error() says why, as a line does.

    // What each task of the category asks for; where its mode is not `fixed`, the most that it is given.
    // Amounts of -1 and 0 are not said.
    bool specify_category_max_resources(const std::string& category, const TaskResources& most);
    // What no task of the category is given less than.
    bool specify_category_min_resources(const std::string& category, const TaskResources& least);
    // What its tasks are tried with while too few of them were measured, where its mode is not `fixed`; else
    // they are tried with the maximum, or a whole worker.
    bool specify_category_first_allocation_guess(const std::string& category, const TaskResources& first);
    // The same of the category "default".
    bool specify_max_resources(const TaskResources& most) { return specify_category_max_resources("", most); }
    bool specify_min_resources(const TaskResources& least) {
        return specify_category_min_resources("", least);
    }
    // "": of all categories of which nothing was said and no task was submitted so far. Modes but `fixed`
    // need enable_monitoring(): without it nothing is known of tasks, which get the maximum, or whole workers
    // (a line says so once).
    bool specify_category_mode(const std::string& category, AllocationMode mode);
    // So many of its tasks run at once, at most; 0: none; below 0, as at the start: as many as there is room
    // for.
    void specify_category_max_concurrent(const std::string& category, int most);
    // Whether a mode but `fixed` finds an amount of this resource: "cores", "memory", "disk" (as at the
    // start), or "gpus", of which nothing is measured.
    bool enable_category_resource(const std::string& category, const std::string& resource, bool on = true);
    // Begins with what an earlier run has measured, as enable_monitoring() wrote it to
    // FOLDER/wq-PID.summaries; all categories that are known then get this maximum, where it says anything.
    // false as well: no such file.
    bool initialize_categories(const std::string& summaries_file, const TaskResources& most = {});
    // All categories of which something was said or a task submitted, as `work_queue_status -A` shows them.
    std::vector<CategorySummary> categories() const;

    // ---- monitoring ----

    // What tasks that start from now on and all their processes use is measured: Task::resources_measured().
    // With `watchdog` they are held to what they are given of cores, memory and disk: one that takes more is
    // ended, with TaskResult::resource_exhaustion where its category gives it no more. Without monitoring
    // nothing holds them to it. `folder`, which is made where it is not there: each task that ran has a file
    // wq-PID-task-ID.summary there when wait() returns it, and all of them are in wq-PID.summaries, a line
    // each. false: it cannot be written.
    bool enable_monitoring(const std::string& folder = {}, bool watchdog = true);
    // The same: a time series of each task is not kept.
    bool enable_monitoring_full(const std::string& folder = {}, bool watchdog = true) {
        return enable_monitoring(folder, watchdog);
    }

    // ---- figures and settings ----

    Statistics stats() const;
    // Of the tasks of one category; figures of workers and of the manager itself are those of the whole.
    Statistics stats_category(const std::string& category) const;

    // Why the task does not run, or where it does, in one line, such as "not now: it gets 4 cores, and 2 workers that
    // could run it are busy". Of a range: of its first call. "": no such task, or wait() has returned it.
    std::string why(std::int64_t id) const;

    // Settings by the names of Work Queue's table, e.g. tune("hungry-minimum", 20); share/doc/managers.md
    // says which of them act, and when. false: no such name, or a value out of its bounds (a line is said).
    bool tune(const std::string& name, double value);

    // Why the last call of this thread that failed did so: of submit(), submit_range(), tune(),
    // write_contact() and those of categories and monitoring, of any manager. A call that succeeds leaves it
    // as it is; "": none has failed.
    const std::string& last_error() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace wq
