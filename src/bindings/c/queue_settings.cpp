// Settings of a queue. Its manager may have started.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "net/frames/contact.h"
#include "net/frames/tls_identity.h"

namespace wq::bindings::c {

namespace {

// The manager starts later, and the program may change its folder before.
std::string absolute(const std::string& path) {
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(path, unknown);
    return unknown ? path : whole.string();
}

bool specify(const char* function, work_queue& queue, const std::function<void(ManagerOptions&)>& change) {
    const Status done = queue.specify(change);
    if (!done) complain(function, done.error().message);
    return done.ok();
}

// Returns 1 if `file` is set; "" clears the option.
int specify_log(const char* function, work_queue* q, std::string ManagerOptions::*option, const char* file) {
    return guarded(function, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        const std::string path = text_or_empty(file);
        if (!path.empty()) {
            const int log = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
            if (log < 0) return refuse(me, path + ": " + std::system_category().message(errno), 0);
            ::close(log);
        }
        const std::string whole = path.empty() ? path : absolute(path);
        return specify(me, *queue, [&](ManagerOptions& options) { options.*option = whole; }) ? 1 : 0;
    });
}

void keep_alive(const char* function, work_queue* q, double ManagerOptions::*option, const char* parameter,
                int seconds) {
    guarded(function, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        if (seconds < 0) return complain(me, "give 0 seconds or more");
        if (queue->begun())
            queue->order([&](Manager& manager) { manager.tune(parameter, seconds); });
        else
            queue->options().*option = seconds;
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

void work_queue_specify_password(work_queue* q, const char* password) {
    guarded(__func__, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        if (text_or_empty(password).empty()) return complain(me, "the password is empty");
        specify(me, *queue, [&](wq::ManagerOptions& options) { options.password = password; });
    });
}

int work_queue_specify_password_file(work_queue* q, const char* file) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        if (file == nullptr) return refuse(me, "the name of the file is NULL", 0);
        const auto password =
            wq::net::frames::read_password(file, [&](const std::string& line) { complain(me, line); });
        if (!password) return refuse(me, password.error().message, 0);
        return specify(me, *queue, [&](wq::ManagerOptions& options) { options.password = *password; }) ? 1
                                                                                                       : 0;
    });
}

int work_queue_specify_contact_file(work_queue* q, const char* file) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_to_specify(me, q);
        if (queue == nullptr) return 0;
        if (text_or_empty(file).empty()) return refuse(me, "the name of the file is missing", 0);
        queue->options().contact_file = absolute(file);
        return 1;
    });
}

int work_queue_specify_status(work_queue* q, const char* who) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return 0;
        const std::string word = text_or_empty(who);
        constexpr bool has_key = false;  // it counts only without a word
        const auto known = wq::api::status_door(word, has_key);
        if (word.empty() || !known) return refuse(me, "give open, key or off", 0);
        return specify(me, *queue, [&](wq::ManagerOptions& options) { options.status = word; }) ? 1 : 0;
    });
}

void work_queue_specify_name(work_queue* q, const char* name) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            specify(me, *queue, [&](wq::ManagerOptions& options) { options.name = text_or_empty(name); });
    });
}

// ---- what others are told of the queue ----

void work_queue_specify_catalog_server(work_queue* q, const char* hostname, int port) {
    guarded(__func__, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        if (text_or_empty(hostname).empty() || port < 0 || port > 65535)
            return complain(me, "give the name of a host, and a port (0: CATALOG_PORT, or 9097)");
        std::string server = hostname;
        if (port > 0) server = wq::net::frames::to_text({server, static_cast<std::uint16_t>(port)});
        specify(me, *queue, [&](wq::ManagerOptions& options) { options.catalog = server; });
    });
}

void work_queue_specify_catalog_servers(work_queue* q, const char* hosts) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            specify(me, *queue, [&](wq::ManagerOptions& options) { options.catalog = text_or_empty(hosts); });
    });
}

void work_queue_specify_priority(work_queue* q, int priority) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            specify(me, *queue, [&](wq::ManagerOptions& options) { options.priority = priority; });
    });
}

void work_queue_specify_num_tasks_left(work_queue* q, int ntasks) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            specify(me, *queue, [&](wq::ManagerOptions& options) { options.tasks_left = ntasks; });
    });
}

void work_queue_manager_preferred_connection(work_queue* q, const char* preferred_connection) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            specify(me, *queue, [&](wq::ManagerOptions& options) {
                options.preferred_connection = text_or_empty(preferred_connection);
            });
    });
}

int work_queue_specify_log(work_queue* q, const char* file) {
    return specify_log(__func__, q, &wq::ManagerOptions::stats_log, file);
}
int work_queue_specify_transactions_log(work_queue* q, const char* file) {
    return specify_log(__func__, q, &wq::ManagerOptions::transactions_log, file);
}

int work_queue_tune(work_queue* q, const char* name, double value) {
    return guarded(__func__, -1, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return -1;
        const std::string parameter = text_or_empty(name);
        if (const auto known = queue->tuning.set(parameter, value); !known)
            return refuse(me, known.error().message, -1);
        queue->order([=](wq::Manager& manager) { manager.tune(parameter, value); });
        return 0;
    });
}

void work_queue_specify_keepalive_interval(work_queue* q, int interval) {
    keep_alive(__func__, q, &wq::ManagerOptions::keepalive_interval, "keepalive-interval", interval);
}
void work_queue_specify_keepalive_timeout(work_queue* q, int timeout) {
    keep_alive(__func__, q, &wq::ManagerOptions::keepalive_timeout, "keepalive-timeout", timeout);
}

// Creates, inspects and deletes queues.

namespace wq::bindings::c {

namespace {

// Programs check errno for the reason.
work_queue* refused(const char* function, const Error& error) {
    complain(function, error.message);
    errno = error.code == ExitCode::unreachable   ? EADDRINUSE
            : error.code == ExitCode::not_allowed ? EACCES
                                                  : EINVAL;
    return nullptr;
}

// Limit of each stream of a task: the manager's maximum, because Work Queue's programs expect a gigabyte.
constexpr std::uint64_t most_output = 1u << 30;

work_queue* create(const char* function, ManagerOptions options) {
    options.output_limit = most_output;
    return guarded(function, static_cast<work_queue*>(nullptr), [&](const char* me) -> work_queue* {
        auto held = api::hold_port(options);
        if (!held) return refused(me, held.error());
        return new work_queue(std::move(options), std::move(*held));
    });
}

}  // namespace

}  // namespace wq::bindings::c

work_queue* work_queue_create(int port) {
    wq::ManagerOptions options;
    options.port = port;
    return create(__func__, std::move(options));
}

// Bindings of other languages always call this one, with NULLs for a queue without TLS.
work_queue* work_queue_ssl_create(int port, const char* key, const char* certificate) {
    if (key == nullptr && certificate == nullptr) return work_queue_create(port);
    return guarded(__func__, static_cast<work_queue*>(nullptr), [&](const char* me) -> work_queue* {
        wq::ManagerOptions options;
        options.port = port;
        options.ssl = true;
        options.ssl_key = key == nullptr ? "" : key;
        options.ssl_certificate = certificate == nullptr ? "" : certificate;
        if (options.ssl_key.empty() != options.ssl_certificate.empty())
            return refused(me,
                           {wq::ExitCode::usage, "key and certificate belong together: give both, or none"});
        if (!options.ssl_key.empty())
            if (const auto identity =
                    wq::net::frames::read_identity(options.ssl_key, options.ssl_certificate);
                !identity)
                return refused(me, identity.error());
        return create(me, std::move(options));
    });
}

void work_queue_delete(work_queue* q) {
    if (q == nullptr) return;
    guarded(__func__, [&](const char* me) {
        if (queue_of(me, q) != nullptr) delete q;
    });
}

int work_queue_port(work_queue* q) {
    const work_queue* queue = queue_of(__func__, q);
    return queue == nullptr ? 0 : queue->port();
}

const char* work_queue_name(work_queue* q) {
    const work_queue* queue = queue_of(__func__, q);
    return queue == nullptr || queue->options().name.empty() ? nullptr : queue->options().name.c_str();
}

// Blocked hosts, and tasks that take too long.

namespace wq::bindings::c {

namespace {

// Applies a setting of a host now, or when the manager starts.
template <class Order>
void order_of_host(const char* function, work_queue* q, const char* hostname, const Order& order) {
    guarded(function, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return;
        if (hostname == nullptr || *hostname == '\0')
            return complain(me, "the name of the host is NULL or empty");
        queue->order([order, host = std::string(hostname)](Manager& manager) { order(manager, host); });
    });
}

constexpr int on = 0;
constexpr int off = 1;

int fast_abort(const char* function, work_queue* q, const char* category, double multiplier) {
    return guarded(function, off, [&](const char* me) {
        work_queue* queue = queue_of(me, q);
        if (queue == nullptr) return off;
        const std::string name = category;
        if (name == "default") queue->ends_slow_tasks = multiplier >= 1;
        queue->order([=](Manager& manager) { manager.activate_fast_abort_category(name, multiplier); });
        const bool as_for_all = multiplier < 0 || (multiplier > 0 && multiplier < 1);
        return multiplier >= 1 || (as_for_all && queue->ends_slow_tasks) ? on : off;
    });
}

}  // namespace

}  // namespace wq::bindings::c

void work_queue_block_host(work_queue* q, const char* hostname) {
    order_of_host(__func__, q, hostname,
                  [](wq::Manager& manager, const std::string& host) { manager.block_host(host); });
}
void work_queue_block_host_with_timeout(work_queue* q, const char* hostname, time_t seconds) {
    order_of_host(__func__, q, hostname, [=](wq::Manager& manager, const std::string& host) {
        manager.block_host_with_timeout(host, seconds);
    });
}
void work_queue_unblock_host(work_queue* q, const char* hostname) {
    order_of_host(__func__, q, hostname,
                  [](wq::Manager& manager, const std::string& host) { manager.unblock_host(host); });
}
void work_queue_unblock_all(work_queue* q) {
    guarded(__func__, [&](const char* me) {
        if (work_queue* queue = queue_of(me, q))
            queue->order([](wq::Manager& manager) { manager.unblock_all(); });
    });
}

int work_queue_activate_fast_abort(work_queue* q, double multiplier) {
    return fast_abort(__func__, q, "default", multiplier);
}
int work_queue_activate_fast_abort_category(work_queue* q, const char* category, double multiplier) {
    return fast_abort(__func__, q, category == nullptr ? "default" : category, multiplier);
}

// Functions whose features do not exist (yet): they accept their arguments and say so once.

namespace wq::bindings::c {

namespace {

void take(const char* function, const work_queue* q, const char* what) {
    guarded(function, [&](const char* me) {
        if (queue_of(me, q) != nullptr) no_effect(me, what);
    });
}

}  // namespace

}  // namespace wq::bindings::c

int wq_option_scheduler = WORK_QUEUE_SCHEDULE_UNSET;

void work_queue_set_bandwidth_limit(work_queue* q, const char*) {
    take(__func__, q, "transfers are not limited");
}
void work_queue_specify_algorithm(work_queue* q, work_queue_schedule_t) {
    take(__func__, q, "a task goes to whichever worker has room first");
}
void work_queue_specify_debug_path(work_queue* q, const char*) {
    take(__func__, q, "there is no log server");
}
void work_queue_specify_tlq_port(work_queue* q, int) {
    take(__func__, q, "there is no log server");
}

// ---- nothing to be done, and nothing to be said ----

void work_queue_invalidate_cached_file(work_queue* q, const char*, work_queue_file_t) {
    queue_of(__func__, q);
}
void work_queue_specify_task_order(work_queue* q, int) {
    queue_of(__func__, q);
}
void work_queue_specify_manager_mode(work_queue* q, int) {
    queue_of(__func__, q);
}
void work_queue_specify_estimate_capacity_on(work_queue* q, int) {
    queue_of(__func__, q);
}
char* work_queue_generate_disk_alloc_full_filename(char* folder, int taskid) {
    if (folder == nullptr) return nullptr;
    return guarded(__func__, static_cast<char*>(nullptr), [&](const char*) {
        return ::strdup((std::string(folder) + "/disk_full." + std::to_string(taskid)).c_str());
    });
}
