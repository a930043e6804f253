// Submits workers for a queue.
#include "work_queue/factory.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/factory_settings.h"
#include "base/units.h"
#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "cctools/work_queue_factory.h"

namespace {

class Calling {
  public:
    explicit Calling(std::atomic<int>& calls) : calls_(calls) { ++calls_; }
    ~Calling() { --calls_; }
    Calling(const Calling&) = delete;

  private:
    std::atomic<int>& calls_;
};

}  // namespace

struct work_queue_factory : wq::bindings::c::Quarantined<work_queue_factory, 64> {
    work_queue_factory(work_queue* of, std::string batch_type);
    ~work_queue_factory();
    work_queue_factory(const work_queue_factory&) = delete;

    bool running() const { return factory_ && ours() && factory_->running(); }
    bool ours() const { return !factory_ || process_ == ::getpid(); }
    void start(wq::Manager* manager);
    void stop();
    bool set();  // the settings, if it runs; false: they cannot be written
    std::optional<wq::FactoryReport> report() const {
        const Calling calling(calls_);
        return factory_ ? factory_->report() : std::nullopt;
    }

    wq::FactoryOptions options;
    work_queue* queue;  // null: it was deleted, or the options name the manager
    const bool of_queue;

  private:
    std::unique_ptr<wq::Factory> factory_;  // since the first start
    int process_ = 0;                       // that started it
    mutable std::atomic<int> calls_{0};     // that use it now
};

work_queue_factory::work_queue_factory(work_queue* of, std::string batch_type)
    : queue(of), of_queue(of != nullptr) {
    options.batch_type = std::move(batch_type);
    if (of_queue)
        queue->users.emplace(this, [this] {
            queue = nullptr;
            stop();
        });
    wq::bindings::c::LiveObjects<work_queue_factory>::all().add(this);
}

work_queue_factory::~work_queue_factory() {
    wq::bindings::c::LiveObjects<work_queue_factory>::all().remove(this);
    if (queue != nullptr) queue->users.erase(this);
    stop();
    if (!ours()) static_cast<void>(factory_.release());
}

void work_queue_factory::start(wq::Manager* manager) {
    options.manager = manager;
    auto made = std::make_unique<wq::Factory>(options);
    {
        const Calling calling(calls_);
        made->start();
    }
    process_ = ::getpid();
    factory_ = std::move(made);
}

// A forked process has the factory's memory, but not its thread. If exit() is called in a signal handler or
// another thread while a call uses the factory, that call would never end; the program
// work_queue_factory then ends when it notices that its reader is gone.
void work_queue_factory::stop() {
    if (!factory_ || !ours() || calls_ != 0) return;
    const Calling calling(calls_);
    factory_->stop();
}

bool work_queue_factory::set() {
    const Calling calling(calls_);
    return !running() || factory_->set(options.settings);
}

namespace wq::bindings::c {

namespace {

// Null, with a line on stderr: it is NULL, or deleted.
work_queue_factory* known(const char* function, work_queue_factory* factory) {
    if (factory != nullptr && LiveObjects<work_queue_factory>::all().has(factory)) return factory;
    complain(function,
             factory == nullptr ? "the factory is NULL" : "this is not a factory, or it was deleted");
    return nullptr;
}

// Same, but also null if another process started it.
work_queue_factory* factory_of(const char* function, work_queue_factory* factory) {
    if (known(function, factory) == nullptr) return nullptr;
    if (factory->ours()) return factory;
    complain(function, "this factory belongs to the parent process");
    return nullptr;
}

void show(const FactoryReport& from, work_queue_factory_report& to) {
    to.tasks_waiting = from.tasks_waiting;
    to.tasks_on_workers = from.tasks_on_workers;
    to.tasks_unfit = from.tasks_unfit;
    to.workers_wanted = from.workers_wanted;
    to.workers_connected = from.workers_connected;
    to.workers_starting = from.workers_starting;
    to.workers_pending = from.workers_pending;
    const std::string held = line_for_message(from.held, sizeof to.held - 1);
    to.held[held.copy(to.held, sizeof to.held - 1)] = '\0';
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

work_queue_factory* work_queue_factory_create(work_queue* q, const char* batch_type) {
    return guarded(__func__, static_cast<work_queue_factory*>(nullptr),
                   [&](const char* me) -> work_queue_factory* {
                       work_queue* queue = q == nullptr ? nullptr : queue_of(me, q);
                       if (queue == nullptr && q != nullptr) return nullptr;
                       if (text_or_empty(batch_type).empty())
                           return refuse(me, "name the batch system, such as slurm", nullptr);
                       if (queue != nullptr && queue->port() == 0)
                           return refuse(me, "this queue has no port for workers", nullptr);
                       return new work_queue_factory(queue, batch_type);
                   });
}

int work_queue_factory_specify(work_queue_factory* f, const char* name, const char* value) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue_factory* factory = factory_of(me, f);
        if (factory == nullptr) return 0;
        if (name == nullptr) return refuse(me, "the name is NULL", 0);
        const wq::Status known =
            wq::api::specify(factory->options, factory->running(), name, text_or_empty(value));
        if (!known) return refuse(me, known.error().message, 0);
        if (!factory->set()) return refuse(me, "the settings cannot be written to its folder", 0);
        return 1;
    });
}

int work_queue_factory_start(work_queue_factory* f) {
    return guarded(__func__, 0, [&](const char* me) {
        work_queue_factory* factory = factory_of(me, f);
        if (factory == nullptr) return 0;
        if (factory->running()) return 1;
        if (factory->of_queue && factory->queue == nullptr) return refuse(me, "its queue was deleted", 0);
        wq::Manager* const manager = factory->of_queue ? factory->queue->serving() : nullptr;
        if (factory->of_queue && manager == nullptr) return 0;
        factory->start(manager);
        return 1;
    });
}

void work_queue_factory_stop(work_queue_factory* f) {
    guarded(__func__, [&](const char* me) {
        if (work_queue_factory* factory = factory_of(me, f)) factory->stop();
    });
}

int work_queue_factory_running(work_queue_factory* f) {
    const work_queue_factory* factory = factory_of(__func__, f);
    return factory != nullptr && factory->running() ? 1 : 0;
}

int work_queue_factory_get_report(work_queue_factory* f, work_queue_factory_report* report) {
    return guarded(__func__, 0, [&](const char* me) {
        const work_queue_factory* factory = factory_of(me, f);
        if (factory == nullptr) return 0;
        if (report == nullptr) return refuse(me, "the report is NULL", 0);
        *report = {};
        const auto last = factory->report();
        if (!last) return 0;
        show(*last, *report);
        return 1;
    });
}

void work_queue_factory_delete(work_queue_factory* f) {
    if (f == nullptr) return;
    guarded(__func__, [&](const char* me) {
        if (known(me, f) != nullptr) delete f;
    });
}
