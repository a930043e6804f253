#include "api/factory_settings.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <variant>

#include "api/setup_error.h"
#include "base/background.h"
#include "base/descriptor.h"
#include "base/json.h"
#include "base/signals.h"
#include "base/similar_word.h"
#include "base/units.h"
#include "factory/factory_process.h"
#include "factory/settings.h"
#include "net/catalog/catalog_client.h"
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
            if (process.running()) process.handle_reports(say);
            record_state(process);
        }
        std::lock_guard lock(mutex_);
        running_ = false;
        changed_.notify_all();
    }
    void record_state(const factory::FactoryProcess& process) {
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

namespace wq::api {

namespace {

using CountMember = int FactorySettings::*;
using Megabytes = std::int64_t FactorySettings::*;
using Seconds = double FactorySettings::*;
using Choice = bool FactorySettings::*;
using Text = std::string FactorySettings::*;

struct Setting {
    std::string_view name;
    std::variant<CountMember, Megabytes, Seconds, Choice, Text> member;
    std::int64_t most = factory::most_workers;  // of a count
};

constexpr std::array settings_table{
    Setting{"min-workers", &FactorySettings::min_workers},
    Setting{"max-workers", &FactorySettings::max_workers},
    Setting{"workers-per-cycle", &FactorySettings::workers_per_cycle},
    Setting{"tasks-per-worker", &FactorySettings::tasks_per_worker},
    Setting{"capacity", &FactorySettings::capacity},
    Setting{"timeout", &FactorySettings::timeout},
    Setting{"factory-timeout", &FactorySettings::factory_timeout},
    Setting{"cores", &FactorySettings::cores, most_cores},
    Setting{"memory", &FactorySettings::memory},
    Setting{"disk", &FactorySettings::disk},
    Setting{"gpus", &FactorySettings::gpus, most_cores},
    Setting{"autosize", &FactorySettings::autosize},
    Setting{"worker-extra-options", &FactorySettings::worker_extra_options},
    Setting{"condor-requirements", &FactorySettings::condor_requirements},
};

// Read only at a factory's start. Without a member it is an option that the program gets as a word.
struct Option {
    enum class Kind { text, path, time, list, host_port };
    std::string_view name;
    Kind kind = Kind::text;
    std::string FactoryOptions::*member = nullptr;
};

constexpr std::array options_table{
    Option{"factory-name", Option::Kind::text, &FactoryOptions::factory_name},
    Option{"scratch-dir", Option::Kind::path, &FactoryOptions::scratch_dir},
    Option{"worker-binary", Option::Kind::path, &FactoryOptions::worker_binary},
    Option{"manager-name", Option::Kind::text, &FactoryOptions::manager_name},
    Option{"manager-host-port", Option::Kind::host_port},
    Option{"catalog"},
    Option{"batch-options"},
    Option{"wall-time", Option::Kind::time},
    Option{"cycle", Option::Kind::time},
    Option{"status-interval", Option::Kind::time},
    Option{"feature", Option::Kind::list},
    Option{"env", Option::Kind::list},
    Option{"worker-start-cmd"},
    Option{"wrapper"},
    Option{"task-wrapper"},
};

template <class Table>
auto find(const Table& table, std::string_view name) {
    return std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == name; });
}

template <class Table>
std::vector<std::string> names_in(const Table& table) {
    std::vector<std::string> names;
    for (const auto& one : table) names.emplace_back(one.name);
    return names;
}

Error bad(std::string_view name, const std::string& why) {
    return {ExitCode::usage, std::string(name) + ": " + why};
}

Error unknown(const std::string& name) {
    if (const std::string why = why_refused(name); !why.empty()) return bad(name, why);
    std::vector<std::string_view> names;
    for (const Setting& setting : settings_table) names.push_back(setting.name);
    for (const Option& option : options_table) names.push_back(option.name);
    return {ExitCode::usage,
            "there is no setting " + quote_for_message(name) + did_you_mean(most_similar(name, names))};
}

Result<bool> parse_choice(const std::string& text) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    return Error{ExitCode::usage, quote_for_message(text) + " is neither true nor false"};
}

// Assigns a value, each kind by its own rules.
struct Assign {
    const Setting& setting;
    FactorySettings& settings;
    const std::string& text;

    template <class Value, class Member>
    Status take(Result<Value> value, Member member) const {
        if (!value) return bad(setting.name, value.error().message);
        settings.*member = static_cast<std::remove_reference_t<decltype(settings.*member)>>(*value);
        return success();
    }
    Status operator()(CountMember member) const { return take(parse_count(text, 0, setting.most), member); }
    Status operator()(Megabytes member) const { return take(parse_amount_mb(text), member); }
    Status operator()(Seconds member) const {
        const auto time = parse_duration(text);
        if (!time) return bad(setting.name, time.error().message);
        settings.*member = std::chrono::duration<double>(*time).count();
        return success();
    }
    Status operator()(Choice member) const { return take(parse_choice(text), member); }
    Status operator()(Text member) const {
        settings.*member = text;
        return success();
    }
};

// The program may change its folder before the factory starts.
std::string absolute(const std::string& path) {
    std::error_code unknown;
    const auto whole = std::filesystem::absolute(path, unknown);
    return path.empty() || unknown ? path : whole.string();
}

// "--NAME=VALUE" in one word, since a value may begin with a minus.
void set_word(std::vector<std::string>& words, const Option& option, const std::string& value) {
    const std::string start = "--" + std::string(option.name) + "=";
    if (option.kind != Option::Kind::list || value.empty())
        std::erase_if(words, [&](const std::string& word) { return word.starts_with(start); });
    if (!value.empty()) words.push_back(start + value);
}

Status take_host_port(FactoryOptions& options, const std::string& value) {
    const std::size_t colon = value.rfind(':');
    const auto port = parse_count(colon == value.npos ? "" : value.substr(colon + 1), 1, 65535);
    if (!value.empty() && (!port || colon == 0))
        return bad("manager-host-port", quote_for_message(value) + " is not HOST:PORT");
    options.manager_host = value.substr(0, std::min(colon, value.size()));
    options.manager_port = port ? static_cast<int>(*port) : 0;
    return success();
}

}  // namespace

std::string why_refused(const std::string& name) {
    if (name == "config-file") return "give its values as settings of the factory";
    return std::string(factory::why_refused(name));
}

Status specify(FactoryOptions& options, bool running, const std::string& name, const std::string& value) {
    if (const auto setting = find(settings_table, name); setting != settings_table.end())
        return std::visit(Assign{*setting, options.settings, value}, setting->member);
    const auto option = find(options_table, name);
    if (option == options_table.end()) return unknown(name);
    if (running) return bad(name, "too late: it can change only while the factory does not run");
    if (option->kind == Option::Kind::time && !value.empty())
        if (const auto time = parse_duration(value); !time) return bad(name, time.error().message);
    if (option->kind == Option::Kind::host_port) return take_host_port(options, value);
    if (option->member == nullptr)
        set_word(options.options, *option, value);
    else
        options.*option->member = option->kind == Option::Kind::path ? absolute(value) : value;
    return success();
}

std::vector<std::string> setting_names() {
    return names_in(settings_table);
}
std::vector<std::string> option_names() {
    return names_in(options_table);
}

std::string json_of(FactorySettings settings) {
    // A maximum below the default minimum is enough said.
    settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    Json all;
    for (const Setting& setting : settings_table)
        std::visit([&](auto member) { all[std::string(setting.name)] = settings.*member; }, setting.member);
    return all.dump(2) + "\n";
}

}  // namespace wq::api

namespace wq::api {

namespace {

constexpr Duration asked_every = std::chrono::seconds(30);
constexpr Duration catalog_limit = std::chrono::seconds(10);

// The largest of each name, so that a record that is left over releases nobody.
std::map<std::string, std::size_t> limits_in(const std::vector<Json>& records) {
    std::map<std::string, std::size_t> limits;
    for (const Json& record : records) {
        const Json* const name = record.find("factory_name");
        const Json* const most = record.find("max_workers");
        if (name == nullptr || !name->is_string() || most == nullptr || !most->is_number_unsigned()) continue;
        std::size_t& limit = limits[name->text()];
        limit = std::max(limit, static_cast<std::size_t>(most->integer()));
    }
    return limits;
}

}  // namespace

struct FactoryLimits::Asking {
    Wake ended;
    bool waits = false;  // for an answer
    BackgroundThread thread;

    ~Asking() { ended.set(); }
};

FactoryLimits::FactoryLimits(Keep keep) : keep_(std::move(keep)) {}
FactoryLimits::~FactoryLimits() = default;

void FactoryLimits::set_limiting(bool on) {
    if (on && !on_) next_ = {};
    on_ = on;
}

std::optional<Instant> FactoryLimits::check_answers(Instant now) {
    if (asking_) asking_->thread.finish();
    if (!on_ || hosts_.empty()) return std::nullopt;
    if (now < next_) return next_;
    next_ = now + asked_every;
    if (!asking_) asking_ = std::make_unique<Asking>();
    if (std::exchange(asking_->waits, true)) return next_;
    asking_->thread.post([this, hosts = hosts_, stop = asking_->ended.descriptor()]() -> Background::Then {
        net::catalog::CatalogClient client(hosts);
        const auto records = client.query(R"(type=="wq_factory")", instant_now() + catalog_limit, stop);
        auto limits = records ? limits_in(*records) : std::map<std::string, std::size_t>();
        return [this, limits = std::move(limits)] {
            asking_->waits = false;
            if (on_ && !limits.empty()) keep_(limits);
        };
    });
    return next_;
}

}  // namespace wq::api
