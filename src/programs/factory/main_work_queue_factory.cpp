// work_queue_factory: its options are in factory_options.cpp, what it decides in factory/.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <tuple>

#include "base/find_program.h"
#include "base/shortage.h"
#include "base/signals.h"
#include "base/units.h"
#include "factory/factory.h"
#include "factory/factory_process.h"
#include "factory/own_folder.h"
#include "manager/run/rank_loop.h"
#include "net/contact/announcer.h"
#include "net/contact/registry.h"
#include "net/frames/contact.h"
#include "programs/factory/factory_options.h"
#include "records/journal/append_file.h"
#include "records/journal/run_status.h"

namespace {

using namespace wq;

// One line, whatever bytes a path or a batch system has.
void complain(const std::string& text) {
    constexpr std::size_t longest = 4000;
    std::fprintf(stderr, "work_queue_factory: %s\n", line_for_message(text, longest).c_str());
}

// When a file was last changed; a new file has another number. All zero: it is not there.
struct Version {
    std::int64_t seconds = 0, nanoseconds = 0, size = 0;
    std::uint64_t number = 0;
    bool operator==(const Version&) const = default;

    static Version of(const std::string& path) {
        struct stat found {};
        if (::stat(path.c_str(), &found) != 0) return {};
        return {found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size, found.st_ino};
    }
};

class Configuration {
  public:
    explicit Configuration(const programs::factory::FactoryCommand& command)
        : path_(command.config_file), has_place_(!command.place_words.empty()), before_(command.settings) {}

    // The options, and what the file says in their place.
    Result<wq::factory::PoolSettings> read() {
        if (path_.empty()) return before_;
        version_ = Version::of(path_);
        std::error_code missing;
        if (std::filesystem::exists(path_, missing) && !std::filesystem::is_regular_file(path_, missing))
            return records::journal::not_regular(path_, ExitCode::bad_input);
        const auto text = records::journal::read_whole(path_);
        if (!text)
            return Error{text.error().code,
                         text.error().message + " (-C is a file of settings; catalog servers: --catalog)"};
        auto settings = wq::factory::read_settings(*text, before_);
        if (!settings) return Error{ExitCode::bad_input, path_ + ": " + settings.error().message};
        if (const Status pattern = net::contact::check_manager_pattern(settings->manager_name); !pattern)
            return Error{ExitCode::bad_input, path_ + ": manager-name: " + pattern.error().message};
        if (has_place_ && !settings->manager_name.empty())
            return Error{ExitCode::bad_input,
                         path_ + ": manager-name: the command line names the manager already"};
        return settings;
    }
    bool changed() const { return !path_.empty() && Version::of(path_) != version_; }

  private:
    std::string path_;
    bool has_place_;
    wq::factory::PoolSettings before_;
    Version version_;
};

// The options of the submit command that never change. The worker is that beside this program, unless another
// was given.
std::vector<std::string> submit_words(const programs::factory::FactoryCommand& command,
                                      const std::vector<std::string>& place) {
    std::vector<std::string> words = command.submit_options;
    std::error_code error;
    const auto worker =
        std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "work_queue_worker";
    if (std::find(words.begin(), words.end(), "--worker-binary") == words.end() &&
        is_executable_file(worker.string()))
        words.insert(words.begin(), {"--worker-binary", worker.string()});
    words.insert(words.end(), place.begin(), place.end());
    words.emplace_back("--");
    words.insert(words.end(), command.batch_words.begin(), command.batch_words.end());
    return words;
}

// The script and the command for one worker. Error (usage): an option that this system does not have, for
// example.
Result<std::string> shown(const programs::factory::FactoryCommand& command,
                          const wq::factory::Scripts& scripts, const wq::factory::PoolSettings& settings,
                          const std::vector<std::string>& place) {
    wq::factory::Submission one;
    one.name = "wqWorker-xxxxxx";
    one.folder = command.scratch;
    one.options =
        wq::factory::submit_options(settings, settings.factory_name.empty() ? "NAME" : settings.factory_name);
    const std::vector<std::string> words = submit_words(command, place);
    one.options.insert(one.options.end(), words.begin(), words.end());
    auto text = wq::factory::BatchDriver({scripts.driver, scripts.submit}).show(one);
    if (!text) return Error{ExitCode::usage, text.error().message};
    return text;
}

engine::model::Now now() {
    return {instant_now(), wall_now()};
}

// A submission makes two calls of the batch system, and then the system has to list its jobs.
Duration longest_submission() {
    const char* const patience = std::getenv("WORKERS_PATIENCE");
    const auto seconds = parse_count(patience == nullptr ? "35" : patience, 1, 1000);
    return std::chrono::seconds(20 + 3 * (seconds ? *seconds : 35));
}

// A factory that has lost its reader may still be removing its jobs: the next one of a resumed run waits for
// it.
wq::factory::OwnFolder own_folder(const programs::factory::FactoryCommand& command, const Signals& signals) {
    constexpr Duration longest = std::chrono::minutes(3);
    const Instant until = instant_now() + longest;
    manager::run::Waiter waiter;
    for (bool told = false;; told = true) {
        auto folder = wq::factory::OwnFolder::open(command.scratch);
        if (folder || !command.ends_with_reader || instant_now() > until) return std::move(folder).or_throw();
        if (!told) complain("waiting: " + folder.error().message);
        waiter.clear();
        waiter.watch(signals.descriptor());
        waiter.wait(std::chrono::milliseconds(300));
        if (waiter.readable(signals.descriptor())) return std::move(folder).or_throw();
    }
}

class Program {
  public:
    Program(const programs::factory::FactoryCommand& command, const wq::factory::Scripts& scripts)
        : command_(command),
          signals_(Signals::block().or_throw()),
          configuration_(command),
          settings_(configuration_.read().or_throw()),
          folder_(own_folder(command, signals_)),
          book_(wq::factory::JobBook::open(folder_.path() + "/jobs", longest_submission(), instant_now())
                    .or_throw()),
          batch_({scripts.driver, scripts.submit, longest_submission(), signals_.descriptor()}),
          managers_(place()),
          factory_(options(), settings_, managers_, batch_, book_, now()) {
        factory_.say = complain;
        managers_.say = complain;
        const bool has_jobs = !book_.ids().empty() || !book_.doubtful().empty();
        if (const Status owns = folder_.claim(scripts.driver, has_jobs); !owns) throw Failure{owns.error()};
        if (settings_.manager_name.empty() && command.place.managers.empty() && command.place.contact.empty())
            throw Failure{{ExitCode::usage,
                           command.config_file +
                               " names no manager-name: add this key, or give HOST PORT, --contact or -M"}};
    }

    int run() {
        complain(std::string(wq::factory::words_of_begin) + "factory:" + name_ +
                 "; scripts and logs are in " + folder_.path());
        if (settings_.max_workers == 0) complain("--max-workers is 0: no workers are submitted");
        while (!stopped()) {
            reread();
            const Instant begun = instant_now();
            const wq::factory::CycleReport seen = factory_.cycle(now());
            report(seen);
            announce(seen);
            complain_if_nobody(seen);
            if (factory_.timed_out(instant_now())) {
                complain("no manager had a task for " + format_duration(settings_.factory_timeout));
                break;
            }
            if (!wait_for_news(begun + command_.cycle)) break;
        }
        return end();
    }

  private:
    // Until it is time to look again, or a file says that something has changed. False: its reader is gone.
    bool wait_for_news(Instant until) {
        constexpr Duration between_looks = std::chrono::seconds(1);
        const Version contact = contact_version();
        manager::run::Waiter waiter;
        while (instant_now() < until && !configuration_.changed() && contact_version() == contact) {
            waiter.clear();
            waiter.watch(signals_.descriptor());
            if (command_.ends_with_reader) waiter.watch(STDOUT_FILENO);
            waiter.wait(std::clamp(until - instant_now(), Duration{0}, between_looks));
            if (command_.ends_with_reader && waiter.readable(STDOUT_FILENO)) return false;
            if (waiter.readable(signals_.descriptor())) return true;
            if (instant_now() >= publish_again_at_) publish_to_catalogs();
        }
        return true;
    }

    // Of the contact file; without it, of the status of the run that has removed it.
    Version contact_version() const {
        const std::filesystem::path contact = command_.place.contact;
        if (contact.empty()) return {};
        const Version version = Version::of(contact);
        return version == Version{} ? Version::of(contact.parent_path() / "status") : version;
    }

    wq::factory::ManagerPlace place() const {
        wq::factory::ManagerPlace place = command_.place;
        place.stop = signals_.descriptor();
        return place;
    }

    wq::factory::FactoryOptions options() {
        name_ = folder_.name(settings_.factory_name).or_throw();
        wq::factory::FactoryOptions options;
        options.name = name_;
        options.submit_options = submit_words(command_, command_.place_words);
        options.features = command_.features;
        options.folder = folder_.path();
        options.status_every = command_.status_interval;
        options.seed = std::random_device{}();
        return options;
    }

    bool stopped() {
        while (const auto signal = signals_.next()) {
            if (!Signals::stops(*signal)) continue;
            if (!command_.ends_with_reader) complain(std::string("stopped by ") + ::strsignal(*signal));
            return true;
        }
        return false;
    }

    void reread() {
        if (!configuration_.changed()) return;
        auto settings = configuration_.read();
        if (!settings) return complain(settings.error().message + "; the settings stay as they were");
        settings_ = std::move(*settings);
        factory_.set(settings_);
        complain(command_.config_file + " has changed and is in use");
    }

    // Once, until there is one again.
    void complain_if_nobody(const wq::factory::CycleReport& report) {
        const bool nobody = report.managers + report.unanswered == 0 && !settings_.manager_name.empty();
        if (nobody && !nobody_)
            complain("no manager whose name matches " + quote_for_message(settings_.manager_name) +
                     " is registered in " + net::contact::registry_folder() +
                     (announcer_ ? " or on the named catalog servers" : "") + "; the factory waits for one");
        nobody_ = nobody;
    }

    // To the registry, and to the catalog servers, if one is named; the settings may name others later.
    void announce(const wq::factory::CycleReport& report) {
        if (announced_to_ != settings_.catalog) {
            announcer_.reset();
            announced_to_ = settings_.catalog;
            auto announcement = net::contact::announcement_of(settings_.catalog);
            if (!announcement)
                complain(announcement.error().message);
            else if (!announcement->hosts.empty())
                announcer_.emplace(std::move(*announcement), "this factory", complain);
        }
        record_ = record_of(report, settings_, name_, folder_.number());
        entry_.publish_record(record_);
        publish_to_catalogs();
    }

    // Also between cycles, so that the servers do not forget it.
    void publish_to_catalogs() {
        if (!announcer_) return;
        announcer_->publish_record(record_);
        publish_again_at_ = instant_now() + std::chrono::seconds(30);
    }

    void report(const wq::factory::CycleReport& report) const {
        if (command_.json)
            std::printf("%s\n", json_of(report).c_str());
        else
            std::printf("%s %s\n", records::journal::format_utc(report.time).c_str(),
                        text_of(report).c_str());
        std::fflush(stdout);
    }

    int end() {
        const auto jobs = book_.counts();
        if (jobs.pending + jobs.running > 0)
            complain("removing " + count_of(static_cast<std::uint64_t>(jobs.pending + jobs.running), "job"));
        batch_.wait_for_answers();
        constexpr int tries = 3;
        Status removed = success();
        for (int count = 0; count < tries; ++count) {
            removed = factory_.end();
            if (removed) return 0;
        }
        complain(removed.error().message +
                 "; jobs may be left: remove them by the batch system's own command, or run "
                 "work_queue_factory in this folder again, with -W 0");
        return to_int(ExitCode::unreachable);
    }

    const programs::factory::FactoryCommand& command_;
    Signals signals_;
    Configuration configuration_;
    wq::factory::PoolSettings settings_;
    wq::factory::OwnFolder folder_;
    wq::factory::JobBook book_;
    wq::factory::BatchDriver batch_;
    wq::factory::FoundManagers managers_;
    std::string name_;
    bool nobody_ = false;
    wq::factory::Factory factory_;
    std::optional<std::string> announced_to_;  // settings_.catalog, then
    std::optional<net::contact::Announcer> announcer_;
    net::contact::FactoryEntry entry_{net::contact::registry_folder()};
    std::string record_;
    Instant publish_again_at_ = Instant::max();
};

int keep_workers(const programs::factory::FactoryCommand& command) {
    const wq::factory::Scripts scripts = wq::factory::find_scripts(command.batch_type).or_throw();
    for (const std::string& remark : command.remarks) complain(remark);
    if (const std::string& file = command.place.password_file; !file.empty())
        std::ignore = net::frames::read_password(file, complain).or_throw();
    const wq::factory::PoolSettings settings = Configuration(command).read().or_throw();
    if (command.dry_run)
        return std::fputs(shown(command, scripts, settings, command.place_words).or_throw().c_str(), stdout) <
                       0
                   ? 1
                   : 0;
    // Wrong options are wrong at once, also if the manager and its contact file come later.
    const std::vector<std::string> any_place{"--manager-name", "any"};
    std::ignore =
        shown(command, scripts, settings, settings.manager_name.empty() ? any_place : command.place_words)
            .or_throw();
    // Whoever read the reports may be gone; the jobs are to be removed all the same.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);  // if our parent ignored it, no exit code of a driver would be known
    if (command.parent_death) {
        const pid_t parent = ::getppid();
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (::getppid() != parent) ::raise(SIGTERM);  // it may have ended before
    }
    return Program(command, scripts).run();
}

}  // namespace

int main(int argc, char** argv) {
    const auto command = programs::factory::parse_factory_command_line(argc, argv);
    if (!command) {
        complain(command.error().message);
        return to_int(command.error().code);
    }
    using Kind = programs::factory::FactoryCommand::Kind;
    try {
        int code = 0;
        if (command->kind == Kind::help)
            std::fputs(programs::factory::factory_help().c_str(), stdout);
        else if (command->kind == Kind::version)
            std::puts("work_queue_factory " WQ_VERSION);
        else
            code = keep_workers(*command);
        return after_output("work_queue_factory", code);
    } catch (const Failure& failure) {
        complain(failure.error.message);
        return to_int(failure.error.code);
    } catch (const std::exception& error) {
        const Error why = unexpected(error);
        complain(why.message);
        return to_int(why.code);
    }
}
