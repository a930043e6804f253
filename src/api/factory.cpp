#include "work_queue/factory.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <thread>

#include "api/factory_settings.h"
#include "api/setup_error.h"
#include "base/quiet_thread.h"
#include "base/wake.h"
#include "factory/factory_process.h"
#include "records/journal/append_file.h"
#include "work_queue/manager.h"

namespace wq {

namespace {

constexpr Duration longest_stop = std::chrono::seconds(30);
// A program that refuses its options ends sooner, also on a slow machine.
constexpr Duration longest_refusal = std::chrono::seconds(30);
constexpr Duration longest_first_look = std::chrono::seconds(1);

FactoryReport public_report(const factory::CycleReport& report) {
    return {static_cast<std::int64_t>(report.ready),
            static_cast<std::int64_t>(report.on_workers),
            static_cast<std::int64_t>(report.unfit),
            report.decision.wanted,
            report.supply.connected,
            report.supply.starting,
            report.supply.pending,
            report.held};
}

}  // namespace

class Factory::Impl {
  public:
    explicit Impl(FactoryOptions options) : options_(std::move(options)), settings_(options_.settings) {
        const int ways = (options_.manager != nullptr) + !options_.manager_name.empty() +
                         !options_.manager_host.empty() + !options_.contact_file.empty();
        if (ways != 1)
            throw SetupError(
                "name the factory's managers in one way: manager, manager_name, manager_host or contact_file",
                64);
        folder_ = std::filesystem::absolute(options_.scratch_dir.empty()
                                                ? "wq-factory-" + std::to_string(::getuid())
                                                : options_.scratch_dir)
                      .string();
        if (!options_.say)
            options_.say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
    }
    ~Impl() { stop(); }

    void start() {
        std::lock_guard lock(control_);
        if (thread_.joinable() && running_) return;
        end();
        const auto program = options_.factory_binary.empty() ? factory::find_factory_program()
                                                             : Result<std::string>(options_.factory_binary);
        if (!program) throw api::setup_error(program.error());
        std::error_code error;
        std::filesystem::create_directories(folder_, error);
        if (const Status written = write_settings(); !written) throw api::setup_error(written.error());
        stop_ = Wake();
        if (!stop_.valid()) throw SetupError("no descriptor is left for a factory", 69);
        auto process = factory::FactoryProcess::start(*program, words(), {});
        if (!process) throw api::setup_error(process.error());
        running_ = true;
        has_begun_ = false;
        report_.reset();
        last_line_.clear();
        thread_ = quiet_thread([this, process = std::move(*process)]() mutable { serve(process); });
        std::unique_lock inner(mutex_);
        changed_.wait_for(inner, longest_refusal, [&] { return has_begun_ || report_ || !running_; });
        changed_.wait_for(inner, longest_first_look, [&] { return report_ || !running_; });
        if (report_ || running_) return;
        inner.unlock();
        thread_.join();
        throw SetupError("work_queue_factory ended at once: " + last_line_, 69);
    }

    void stop() {
        std::lock_guard lock(control_);
        end();
    }

    bool running() const { return running_; }

    FactorySettings settings() const {
        std::lock_guard lock(mutex_);
        return settings_;
    }
    bool set(const FactorySettings& settings) {
        std::lock_guard lock(control_);
        {
            std::lock_guard inner(mutex_);
            settings_ = settings;
        }
        return !running_ || write_settings().ok();
    }
    std::optional<FactoryReport> report() const {
        std::lock_guard lock(mutex_);
        return report_;
    }

  private:
    std::string settings_file() const { return folder_ + "/settings.json"; }
    Status write_settings() const {
        return records::journal::write_atomically(settings_file(), api::json_of(settings_));
    }

    std::vector<std::string> words() const {
        std::vector<std::string> words{"-T", options_.batch_type, "-S", folder_, "-C", settings_file()};
        const auto add = [&](const char* option, const std::string& value) {
            if (value.empty()) return;
            words.emplace_back(option);
            words.push_back(value);
        };
        if (options_.manager != nullptr) {
            const std::string contact = folder_ + "/contact";
            if (!options_.manager->write_contact(contact))
                throw SetupError("the factory's folder cannot be written: " + contact, 77);
            add("--contact", contact);
        }
        add("--contact", options_.contact_file);
        add("--manager-name", options_.manager_name);
        add("--password", options_.password_file);
        add("--ssl-ca", options_.ssl_ca);
        add("--factory-name", options_.factory_name);
        add("--worker-binary", options_.worker_binary);
        if (options_.ssl) words.emplace_back("--ssl");
        if (!options_.manager_host.empty()) {
            words.push_back(options_.manager_host);
            words.push_back(std::to_string(options_.manager_port));
        }
        words.insert(words.end(), options_.options.begin(), options_.options.end());
        return words;
    }

    // The thread's only job: what the factory says.
    void serve(factory::FactoryProcess& process) {
        const auto say = [&](const std::string& line) {
            last_line_ = line;
            options_.say(line);
        };
        while (process.running()) {
            pollfd waits[]{{process.descriptor(), POLLIN, 0}, {stop_.descriptor(), POLLIN, 0}};
            ::poll(waits, 2, -1);
            if (waits[1].revents != 0) process.stop(longest_stop, say);
            if (process.running()) process.look(say);
            note(process);
        }
        std::lock_guard lock(mutex_);
        running_ = false;
        changed_.notify_all();
    }
    void note(const factory::FactoryProcess& process) {
        std::lock_guard lock(mutex_);
        if (process.has_begun()) has_begun_ = true;
        if (process.report()) report_ = public_report(*process.report());
        changed_.notify_all();
    }

    void end() {
        if (!thread_.joinable()) return;
        stop_.set();
        thread_.join();
    }

    FactoryOptions options_;
    std::string folder_;
    std::mutex control_;  // start, stop and set, one at a time
    mutable std::mutex mutex_;
    FactorySettings settings_;
    std::condition_variable changed_;
    bool has_begun_ = false;
    std::optional<FactoryReport> report_;
    std::string last_line_;  // of the thread, until it has ended
    std::atomic<bool> running_ = false;
    Wake stop_;
    std::thread thread_;
};

Factory::Factory(FactoryOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Factory::~Factory() = default;
void Factory::start() {
    impl_->start();
}
void Factory::stop() {
    impl_->stop();
}
bool Factory::running() const {
    return impl_->running();
}
FactorySettings Factory::settings() const {
    return impl_->settings();
}
bool Factory::set(const FactorySettings& settings) {
    return impl_->set(settings);
}
std::optional<FactoryReport> Factory::report() const {
    return impl_->report();
}

}  // namespace wq
