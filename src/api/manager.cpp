#include <algorithm>

#include "api/endpoints.h"
#include "api/program_manager.h"
#include "api/translation.h"
#include "records/logs/summary_writer.h"
#include "work_queue/manager.h"

namespace wq {

namespace {

std::string& error_of_this_thread() {
    thread_local std::string text;
    return text;
}

}  // namespace

// Makes the endpoints first and destroys them last: the manager's thread borrows them.
class Manager::Impl : public api::Endpoints, public api::ProgramManager {
  public:
    explicit Impl(ManagerOptions options) : Endpoints(std::move(options)), ProgramManager(open()) {
        if (const Status begun = begin(); !begun) api::refuse(begun.error());
        publish();
    }
    // Lines said meanwhile may call the manager; it still exists, but accepts nothing more.
    void end() {
        ProgramManager::end();
        close(lost_a_rank());
    }

    // Starts a call: after a failure of the manager, last_error() has the reason for every call.
    api::ProgramManager& begin_call() {
        if (std::string why = failure(); !why.empty()) error_of_this_thread() = std::move(why);
        return *this;
    }
    bool set_category(const char* function, const std::string& category,
                      const Result<engine::model::CategorySet>& what);
    bool monitor(const char* function, const std::string& folder,
                 const engine::model::Monitoring& monitoring);
    bool refuse_call(const char* function, const Error& error);  // false
};

Manager::Manager(ManagerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Manager::~Manager() {
    impl_->end();
}

int Manager::port() const {
    return impl_->port();
}
std::string Manager::name() const {
    return impl_->name();
}
std::vector<std::string> Manager::addresses() const {
    return impl_->addresses();
}
bool Manager::write_contact(const std::string& path) const {
    const Status written = impl_->write_contact(path);
    if (!written) error_of_this_thread() = written.error().message;
    return written.ok();
}
bool Manager::change(const ManagerOptions& to) {
    const Status done = impl_->change(to, *impl_);
    if (!done) error_of_this_thread() = done.error().message;
    return done.ok();
}

// ---- tasks ----

std::int64_t Manager::submit(Task task) {
    const auto id = impl_->begin_call().submit(std::move(task));
    if (id) return *id;
    error_of_this_thread() = id.error().message;
    return 0;
}
std::int64_t Manager::submit_range(std::string function, std::int64_t first, std::int64_t last,
                                   CallMode mode) {
    return submit(Task::range(std::move(function), first, last, mode));
}

namespace {
// As in Work Queue.
std::optional<Duration> limit_of(int timeout_seconds) {
    if (timeout_seconds == wait_for_task) return std::nullopt;
    if (timeout_seconds == 0) return std::chrono::seconds(1);
    return std::chrono::seconds(timeout_seconds < 0 ? 5 : timeout_seconds);
}
}  // namespace

std::optional<Task> Manager::wait(int timeout_seconds) {
    const auto limit = limit_of(timeout_seconds);
    const Instant began = instant_now();
    if (!impl_->begin_call().gather(limit.value_or(Duration::max())))
        return impl_->begin_call().wait(Duration{0});
    return impl_->begin_call().wait(limit ? std::optional(*limit - (instant_now() - began)) : limit);
}
bool Manager::gather(std::chrono::nanoseconds limit) {
    return impl_->begin_call().gather(limit);
}
std::optional<Task> Manager::wait_for_tag(const std::string& tag, int timeout_seconds) {
    return impl_->begin_call().wait(limit_of(timeout_seconds), &tag);
}
std::optional<Task> Manager::wait_at_most(std::chrono::nanoseconds limit) {
    return impl_->begin_call().wait(limit);
}
std::optional<Task> Manager::wait_for_tag_at_most(const std::string& tag, std::chrono::nanoseconds limit) {
    return impl_->begin_call().wait(limit, &tag);
}

bool Manager::empty() const {
    return impl_->begin_call().empty();
}
int Manager::hungry() const {
    return impl_->begin_call().tasks_wanted();
}
TaskState Manager::task_state(std::int64_t id) const {
    return impl_->begin_call().task_state(id);
}

// ---- cancelling ----

std::optional<Task> Manager::cancel_by_taskid(std::int64_t id) {
    return impl_->begin_call().cancel(id);
}
std::optional<Task> Manager::cancel_by_tag(const std::string& tag) {
    return impl_->begin_call().cancel_tagged(tag);
}
std::vector<Task> Manager::cancel_by_category(const std::string& category) {
    return impl_->begin_call().cancel_category(&category);
}
std::vector<Task> Manager::cancel_all() {
    return impl_->begin_call().cancel_category(nullptr);
}

std::string Manager::why(std::int64_t id) const {
    return impl_->begin_call().why(id);
}

// ---- workers ----

int Manager::shutdown_workers(int count) {
    return impl_->begin_call().shut_down(count);
}
int Manager::drain(const std::string& hostname, bool on) {
    return impl_->begin_call().drain(hostname, on);
}

void Manager::block_host(const std::string& hostname) {
    impl_->begin_call().block(hostname, 0);
}
void Manager::block_host_with_timeout(const std::string& hostname, std::int64_t seconds) {
    impl_->begin_call().block(hostname, seconds);
}
void Manager::unblock_host(const std::string& hostname) {
    impl_->begin_call().unblock(&hostname);
}
void Manager::unblock_all() {
    impl_->begin_call().unblock(nullptr);
}
std::vector<std::string> Manager::blocked_hosts() const {
    return impl_->begin_call().blocked_hosts();
}

// ---- tasks that take too long ----

bool Manager::activate_fast_abort(double multiplier) {
    return activate_fast_abort_category("default", multiplier);
}
bool Manager::activate_fast_abort_category(const std::string& category, double multiplier) {
    return impl_->begin_call().activate_fast_abort(category, multiplier);
}

// ---- categories and monitoring ----

// Programs rarely check the returned bool, so the user gets a line, too.
bool Manager::Impl::set_category(const char* function, const std::string& category,
                                 const Result<engine::model::CategorySet>& what) {
    if (!what) return refuse_call(function, what.error());
    return begin_call().set_category(category, *what) || refuse_call(function, ended());
}

bool Manager::Impl::refuse_call(const char* function, const Error& error) {
    const std::string text = std::string(function) + ": " + error.message;
    say(text);
    error_of_this_thread() = text;
    return false;
}

namespace {
Result<engine::model::CategorySet> amounts(
    std::optional<engine::model::Sizes> engine::model::CategorySet::*field, const TaskResources& said) {
    if (const Status sound = api::check_amounts(said); !sound) return sound.error();
    engine::model::CategorySet what;
    what.*field = api::sizes_of(said);
    return what;
}
}  // namespace

bool Manager::specify_category_max_resources(const std::string& category, const TaskResources& most) {
    return impl_->set_category(__func__, category, amounts(&engine::model::CategorySet::max, most));
}
bool Manager::specify_category_min_resources(const std::string& category, const TaskResources& least) {
    return impl_->set_category(__func__, category, amounts(&engine::model::CategorySet::min, least));
}
bool Manager::specify_category_first_allocation_guess(const std::string& category,
                                                      const TaskResources& first) {
    return impl_->set_category(__func__, category, amounts(&engine::model::CategorySet::first, first));
}
bool Manager::specify_category_mode(const std::string& category, AllocationMode mode) {
    const auto known = api::mode_of(mode);
    if (!known) return impl_->refuse_call(__func__, known.error());
    engine::model::CategorySet what;
    what.mode = *known;
    return impl_->set_category(__func__, category, what);
}
void Manager::specify_category_max_concurrent(const std::string& category, int most) {
    engine::model::CategorySet what;
    what.max_concurrent = std::max(most, -1);
    impl_->set_category(__func__, category, what);
}
bool Manager::enable_category_resource(const std::string& category, const std::string& resource, bool on) {
    const auto kind = api::resource_named(resource);
    if (!kind) return impl_->refuse_call(__func__, kind.error());
    engine::model::CategorySet what;
    what.automatic = {*kind, on};
    return impl_->set_category(__func__, category, what);
}
bool Manager::initialize_categories(const std::string& summaries_file, const TaskResources& most) {
    if (const Status sound = api::check_amounts(most); !sound)
        return impl_->refuse_call(__func__, sound.error());
    const auto earlier = records::logs::read_summaries(summaries_file);
    if (!earlier) return impl_->refuse_call(__func__, earlier.error());
    if (!earlier->warning.empty()) impl_->say(std::string(__func__) + ": " + earlier->warning);
    return impl_->begin_call().begin_categories(earlier->samples, api::sizes_of(most)) ||
           impl_->refuse_call(__func__, impl_->ended());
}
std::vector<CategorySummary> Manager::categories() const {
    return impl_->begin_call().categories();
}
std::vector<WorkerSummary> Manager::workers() const {
    return impl_->begin_call().workers();
}
bool Manager::Impl::monitor(const char* function, const std::string& folder,
                            const engine::model::Monitoring& monitoring) {
    std::string path;
    if (!folder.empty()) {
        const auto found = api::summaries_folder(folder);
        if (!found) return refuse_call(function, found.error());
        path = *found;
    }
    return begin_call().monitor(monitoring, path) || refuse_call(function, ended());
}
bool Manager::enable_monitoring(const std::string& folder, bool watchdog) {
    return impl_->monitor(__func__, folder, {true, watchdog});
}
bool Manager::enable_monitoring_full(const std::string& folder, bool watchdog) {
    return impl_->monitor(__func__, folder, {true, watchdog, true});
}

// ---- figures and settings ----

Statistics Manager::stats() const {
    return impl_->begin_call().statistics();
}
Statistics Manager::stats_category(const std::string& category) const {
    return impl_->begin_call().statistics_of(category);
}
bool Manager::tune(const std::string& name, double value) {
    const Status set = impl_->begin_call().tune(name, value);
    if (set) return true;
    impl_->say(set.error().message);
    error_of_this_thread() = set.error().message;
    return false;
}
const std::string& Manager::last_error() const {
    return error_of_this_thread();
}

}  // namespace wq
