// work_queue_status: shows managers, their tasks, workers and categories.
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "base/shortage.h"
#include "base/time.h"
#include "base/units.h"
#include "factory/found_managers.h"
#include "manager/report/progress.h"
#include "net/contact/named_managers.h"
#include "programs/run/questions.h"
#include "programs/status/status_options.h"
#include "programs/status/status_table.h"
#include "programs/status/watch_run.h"

namespace {

using namespace wq;
using programs::status::StatusOptions;

const programs::status::StatusColumns& columns_of(StatusOptions::Mode mode) {
    using Mode = StatusOptions::Mode;
    switch (mode) {
        case Mode::tasks:
            return programs::status::task_columns;
        case Mode::workers:
            return programs::status::worker_columns;
        case Mode::categories:
            return programs::status::category_columns;
        case Mode::resources:
            return programs::status::resource_columns;
        case Mode::capacity:
            return programs::status::capacity_columns;
        case Mode::factories:
            return programs::status::factory_columns;
        case Mode::queues:
            break;
    }
    return programs::status::queue_columns;
}

int complain(const Error& error) {
    std::fprintf(stderr, "work_queue_status: %s\n", error.message.c_str());
    return to_int(error.code);
}

// Prints records as they come: a table, or an array.
class Printer {
  public:
    explicit Printer(const StatusOptions& options)
        : options_(options),
          json_(options.json),
          table_(columns_of(options.mode), programs::status::line_width()) {}

    // Ends the table, and begins one for records of another kind. A JSON array holds both kinds.
    void begin_table(StatusOptions::Mode mode) {
        if (json_) return;
        begin();
        table_ = programs::status::StatusTable(columns_of(mode), programs::status::line_width());
        print_later_ = printed_ ? "\n" : "";
        begun_ = false;
    }

    // The records that follow are of this manager; with a title they are a table of their own.
    void begin_manager(const Json& manager, const std::string& title) {
        manager_ = manager;
        if (json_ || title.empty()) return;
        print_later_ = (printed_ ? "\n" : "") + title + "\n";
        begun_ = false;
    }
    void begin() {
        if (std::exchange(begun_, true)) return;
        print(json_ ? "[\n" : std::exchange(print_later_, "") + table_.header());
    }
    // JSON objects separated by commas.
    Status add(const std::string& records) {
        begin();
        const auto all = Json::parse("[" + records + "]");
        if (!all.is_array()) return Error{ExitCode::bad_input, "the answer of the manager cannot be read"};
        for (const Json& record : all.parts()) add(record);
        return success();
    }
    // `mark`: at the end of the row.
    void add(Json record, const std::string& mark = "") {
        begin();
        if (options_.shows(record)) print_record(std::move(record), mark);
    }
    // The same without asking --where.
    void print_record(Json record, const std::string& mark) {
        begin();
        if (!json_) return print(table_.row(record, mark));
        if (!manager_.is_null()) record["manager"] = manager_;
        print((std::exchange(has_records_, true) ? ",\n" : "") + record.dump());
    }
    void end() {
        if (json_ || print_later_.empty()) begin();
        if (json_) print(has_records_ ? "\n]\n" : "]\n");
        std::fflush(stdout);
    }

  private:
    void print(const std::string& text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        printed_ = true;
    }

    const StatusOptions& options_;
    const bool json_;
    programs::status::StatusTable table_;
    Json manager_;
    std::string print_later_;
    bool printed_ = false;
    bool begun_ = false;
    bool has_records_ = false;
};

bool is_unnamed(const wq::factory::FoundManager& manager) {
    return manager.listing && manager.listing->contact.name.empty();
}

// Of what the manager has last written; a note is written once.
std::optional<Duration> age_of(const wq::factory::FoundManager& manager) {
    if (!manager.listing || is_unnamed(manager)) return std::nullopt;
    if (!manager.record) return manager.listing->age;
    if (manager.record->heard == 0) return std::nullopt;
    return std::chrono::microseconds(wall_now()) - std::chrono::seconds(manager.record->heard);
}

// In one line.
std::string failure_of(const wq::factory::FoundManager& manager, const Error& error) {
    const std::string why = net::frames::in_one_line(error.message);
    if (error.code != ExitCode::unreachable || !manager.listing) return manager.name + ": " + why;
    const auto known = age_of(manager);
    if (!known) return manager.name + ": not reached: " + why;
    const auto age = std::chrono::floor<std::chrono::seconds>(*known);
    const bool recent = age < std::chrono::minutes(1);
    return manager.name + ": not reached; its " + (manager.record ? "record" : "entry in the registry") +
           " is " + (recent ? std::to_string(age.count()) + "s" : format_duration(age)) + " old: " + why;
}

// What is known of a manager that does not answer: of one with a name, what its entry says.
Json known_of(const net::contact::Listing& listing) {
    const net::frames::Contact& contact = listing.contact;
    if (contact.name.empty()) return {{"project", "-"}, {"name", contact.host}, {"port", contact.port}};
    return {{"project", contact.name},
            {"name", contact.host},
            {"port", contact.port},
            {"tasks_waiting", listing.load.waiting},
            {"workers", listing.load.workers}};
}

// Asks managers, and shows what they answer.
class Survey {
  public:
    Survey(const StatusOptions& options, Printer& printer) : options_(options), printer_(printer) {}

    // One after the other: each may have many tasks.
    void list(const std::vector<wq::factory::FoundManager>& managers) {
        for (const wq::factory::FoundManager& manager : managers) {
            const Json known = options_.name.empty() ? nullptr : who_is(manager);
            printer_.begin_manager(known, managers.size() > 1 ? line_for_message(manager.name) : "");
            Status shown = success();
            Status end = wq::factory::ask_listing({manager.dial}, options_.listing(), options_.place.limit,
                                                  [&](std::size_t, const std::string& part) {
                                                      const Status added = printer_.add(part);
                                                      if (!added) shown = added;
                                                  })
                             .front();
            if (end && !shown) end = shown;
            if (end) printer_.begin();  // also without tasks
            report_failure(manager, end);
        }
    }

    // Many at once, as far as descriptors allow.
    void sum_up(const std::vector<wq::factory::FoundManager>& managers) {
        constexpr std::ptrdiff_t most_at_once = 100;  // each has 5, and one for each further address
        for (auto first = managers.begin(); first != managers.end();) {
            const auto end = first + std::min(most_at_once, managers.end() - first);
            sum_up_together({first, end});
            first = end;
        }
    }

    // 0 if one has answered, and none has refused to; of all of the user's, some may refuse.
    int code() const {
        if (answered_ && options_.shows_all()) return 0;
        return failed_ != 0 || answered_ ? failed_ : unreached_;
    }

  private:
    void sum_up_together(const std::vector<wq::factory::FoundManager>& managers) {
        std::vector<net::frames::TcpDialOptions> lines;
        for (const wq::factory::FoundManager& manager : managers) lines.push_back(manager.dial);
        std::vector<std::string> records(lines.size());
        const auto ends =
            wq::factory::ask_listing(lines, options_.listing(), options_.place.limit,
                                     [&](std::size_t n, const std::string& part) { records[n] += part; });
        for (std::size_t n = 0; n < managers.size(); ++n) {
            const Status shown = ends[n] ? add(managers[n], records[n]) : ends[n];
            if (!shown && managers[n].listing)
                printer_.add(known_of(*managers[n].listing), mark_of(managers[n], shown.error()));
            report_failure(managers[n], shown);
        }
    }

    static Json who_is(const wq::factory::FoundManager& manager) {
        const net::frames::Contact& contact = manager.listing->contact;
        return {{"project", contact.name}, {"name", contact.host}, {"port", contact.port}};
    }

    static std::string mark_of(const wq::factory::FoundManager& manager, const Error& error) {
        const std::string silent = programs::status::mark_of(age_of(manager).value_or(Duration{}));
        if (!silent.empty()) return silent;
        return error.code == ExitCode::not_allowed ? "not allowed" : "not reached";
    }

    Status add(const wq::factory::FoundManager& manager, const std::string& text) {
        auto record = Json::parse(text);
        if (!record.is_object())
            return Error{ExitCode::bad_input, "the answer of the manager cannot be read"};
        if (manager.listing && record.find("project") == nullptr) record["project"] = "-";
        printer_.add(std::move(record));
        return success();
    }

    void report_failure(const wq::factory::FoundManager& manager, const Status& end) {
        answered_ = answered_ || end;
        if (end) return;
        const Error& error = end.error();
        const bool is_name = error.code == ExitCode::unreachable && !options_.perhaps_name.empty();
        const int code = complain(
            {error.code, failure_of(manager, error) +
                             (is_name ? "; if this is a manager's name: -M " + options_.perhaps_name : "")});
        int& first = error.code == ExitCode::unreachable ? unreached_ : failed_;
        if (first == 0) first = code;
        if (is_unnamed(manager) && wq::factory::nobody_listens(error))
            net::contact::forget_manager(*manager.listing);
    }

    const StatusOptions& options_;
    Printer& printer_;
    bool answered_ = false;
    int unreached_ = 0;
    int failed_ = 0;  // otherwise
};

// Runs of lists without a name. They need no answer of their manager: the figures are in their directory.
void add_noted_runs(Printer& printer) {
    using net::contact::RunSeen;
    const auto look = [&](const std::string& run) {
        const auto found = manager::report::view_of_directory(run);
        if (!found) return RunSeen::unknown;
        if (!found->live) return found->status.exit_code ? RunSeen::ended : RunSeen::unknown;
        const engine::model::ManagerStats& tasks = found->status.tasks;
        printer.add({{"type", "wq_run"},
                     {"project", "-"},
                     {"name", run},
                     {"port", "-"},
                     {"tasks_waiting", tasks.tasks_waiting},
                     {"tasks_on_workers", tasks.tasks_on_workers},
                     {"tasks_running", tasks.tasks_running},
                     {"tasks_complete", tasks.tasks_done},
                     {"tasks_failed", tasks.tasks_failed},
                     {"workers", "-"}});
        return RunSeen::lives;
    };
    net::contact::look_at_noted_runs(net::contact::registry_folder(), look);
}

struct RecordsShown {
    std::size_t all = 0;
    std::size_t current = 0;  // of managers that are not silent
};

// Managers that only catalog servers know: their records say enough.
Result<RecordsShown> add_records(const StatusOptions& options,
                                 const std::vector<wq::factory::FoundManager>& found, Printer& printer) {
    const auto managers = programs::status::managers_of_catalogs(options, found);
    if (!managers) return managers.error();
    RecordsShown shown{managers->records.size()};
    for (const Json& record : managers->records) {
        const std::string mark = programs::status::mark_of(record, managers->asked_at);
        if (mark.empty()) ++shown.current;
        printer.add(record, mark);
    }
    return shown;
}

// Those of the user, then those that only catalog servers know. Returns their number; error: no server
// answers.
Result<std::size_t> add_factories(const StatusOptions& options, bool with_catalogs, Printer& printer) {
    auto factories = programs::status::factories_of_user(options);
    Status asked = success();
    if (with_catalogs && !options.place.catalogs.empty())
        asked = programs::status::add_factories_of_catalogs(options, factories);
    if (options.mode != StatusOptions::Mode::factories && !factories.empty())
        printer.begin_table(StatusOptions::Mode::factories);
    for (const programs::status::FoundFactory& one : factories) printer.print_record(one.record, one.mark);
    if (!asked) return asked.error();
    return factories.size();
}

// HOST PORT of a row that the user sees needs no key, since the registry has it. Of several that had this
// port, the last one that was started.
std::optional<net::frames::Contact> contact_in_registry(const StatusOptions& options) {
    const wq::factory::ManagerPlace& place = options.place;
    if (place.managers.size() != 1 || !place.password_file.empty() || place.ssl) return std::nullopt;
    const net::frames::HostPort& at = place.managers.front();
    auto known = net::contact::noted_managers(net::contact::registry_folder());
    if (auto named = net::contact::find_managers(net::contact::registry_folder(), ".*", 0))
        std::move(named->begin(), named->end(), std::back_inserter(known));
    std::optional<net::frames::Contact> found;
    for (net::contact::Listing& listing : known) {
        net::frames::Contact& contact = listing.contact;
        if (contact.host != at.host || contact.port != at.port) continue;
        if (!found || contact.started > found->started) found = std::move(contact);
    }
    return found;
}

// Those without a name only where all are shown.
Result<std::vector<wq::factory::FoundManager>> find(const StatusOptions& options,
                                                    net::contact::NameFinder& finder) {
    wq::factory::ManagerPlace place = options.place;
    if (!options.needs_manager()) place.catalogs.clear();
    if (const auto contact = contact_in_registry(options))
        return std::vector<wq::factory::FoundManager>{
            {net::frames::to_text(place.managers.front()), net::frames::dial_options(*contact)}};
    auto found = wq::factory::find_managers(
        place, options.name.empty() ? ".*" : options.name,
        [](const std::string& line) { std::fprintf(stderr, "work_queue_status: %s\n", line.c_str()); },
        &finder);
    if (!found || !options.shows_all()) return found;
    for (net::contact::Listing& listing : net::contact::noted_managers(net::contact::registry_folder())) {
        const net::frames::Contact& contact = listing.contact;
        wq::factory::FoundManager manager{net::frames::to_text({contact.host, contact.port}),
                                          net::frames::dial_options(contact), listing};
        // A note has no password of the user.
        if (contact.key.empty())
            if (const Status secured = wq::factory::add_security(place, manager.dial); !secured)
                return secured.error();
        found->push_back(std::move(manager));
    }
    return found;
}

// Returns the exit code.
int show_managers(const StatusOptions& options) {
    net::contact::NameFinder finder(options.place.catalogs);
    const auto found = find(options, finder);
    if (!found) return complain(found.error());
    Printer printer(options);
    Survey survey(options, printer);
    if (options.needs_manager())
        survey.list(*found);
    else
        survey.sum_up(*found);
    int code = survey.code();
    bool any = !found->empty(), catalogs_answer = true;
    if (options.shows_all() && options.mode == StatusOptions::Mode::queues) add_noted_runs(printer);
    if (options.by_name() && !options.needs_manager() && !options.place.catalogs.empty()) {
        const auto shown = add_records(options, *found, printer);
        catalogs_answer = shown.ok();
        if (!shown) code = complain(shown.error());
        if (shown && shown->current > 0 && code == to_int(ExitCode::unreachable)) code = 0;
        any = any || !shown || shown->all > 0;
    }
    if (options.shows_all() && !options.has_mode)
        if (const auto factories = add_factories(options, catalogs_answer, printer); !factories)
            code = complain(factories.error());
    if (!any && !options.name.empty())
        return complain({ExitCode::unreachable,
                         net::contact::none_matches(options.name, options.place.catalogs, finder.trouble())});
    if (code == 0 || found->size() > 1 || (options.by_name() && !options.needs_manager())) printer.end();
    return code;
}

int show_factories(const StatusOptions& options) {
    Printer printer(options);
    constexpr bool with_catalogs = true;
    const auto shown = add_factories(options, with_catalogs, printer);
    if (!shown) {
        printer.end();
        return complain(shown.error());
    }
    if (*shown == 0 && !options.name.empty())
        return complain(
            {ExitCode::unreachable,
             "no factory in " + net::contact::registry_folder() +
                 (options.place.catalogs.empty()
                      ? ""
                      : " or on the catalog server " + net::catalog::to_text(options.place.catalogs)) +
                 " has a name, or a -M, that matches " + quote_for_message(options.name)});
    printer.end();
    return 0;
}

int watch(const StatusOptions& options) {
    const Status watched = programs::status::watch_run(options.run);
    return watched ? 0 : complain(watched.error());
}

int show_run(const StatusOptions& options) {
    const auto text = programs::run::run_status(options.run, options.json);
    if (!text) return complain(text.error());
    std::printf("%s\n", text->c_str());
    std::fflush(stdout);
    return 0;
}

// A run is shown by its own line unless a table is wanted, which its manager fills.
int show(StatusOptions options) {
    if (options.mode == StatusOptions::Mode::factories) return show_factories(options);
    if (options.watch) return watch(options);
    if (options.run.empty()) return show_managers(options);
    if (!options.has_mode) return show_run(options);
    const auto contact = programs::run::contact_of_run(options.run);
    if (!contact) return complain(contact.error());
    options.place.contact = *contact;
    return show_managers(options);
}

int repeat(const StatusOptions& options) {
    for (;;) {
        const int code = show(options);
        if (std::ferror(stdout) != 0) return code;
        std::printf("\n");
        std::fflush(stdout);
        const auto pause = std::chrono::ceil<std::chrono::milliseconds>(*options.every);
        ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(pause.count(), 1'000'000'000)));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = programs::status::parse_status_options(argc, argv);
    if (!options) return complain(options.error());
    int code = 0;
    try {
        if (options->help)
            std::fputs(programs::status::status_help().c_str(), stdout);
        else if (options->version)
            std::puts("work_queue_status " WQ_VERSION);
        else
            code = options->every ? repeat(*options) : show(*options);
    } catch (const std::exception& error) {
        return complain(unexpected(error));
    }
    return after_output("work_queue_status", code);
}
