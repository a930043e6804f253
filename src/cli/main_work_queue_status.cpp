// work_queue_status: shows managers, their tasks, workers and categories.
#include <poll.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/shortage.h"
#include "base/units.h"
#include "cli/status.h"
#include "cli/status_options.h"
#include "cli/status_records.h"
#include "cli/status_table.h"
#include "factory/ask_status.h"
#include "report/run_view.h"

namespace {

using namespace wq;
using cli::StatusOptions;

const cli::StatusColumns& columns_of(StatusOptions::Mode mode) {
    using Mode = StatusOptions::Mode;
    switch (mode) {
        case Mode::tasks:
            return cli::task_columns;
        case Mode::workers:
            return cli::worker_columns;
        case Mode::categories:
            return cli::category_columns;
        case Mode::resources:
            return cli::resource_columns;
        case Mode::capacity:
            return cli::capacity_columns;
        case Mode::factories:
            return cli::factory_columns;
        case Mode::queues:
            break;
    }
    return cli::queue_columns;
}

int complain(const Error& error) {
    std::fprintf(stderr, "work_queue_status: %s\n", error.message.c_str());
    return to_int(error.code);
}

// Prints records as they come: a table, or an array.
class Printer {
  public:
    explicit Printer(const StatusOptions& options)
        : options_(options), json_(options.json), table_(columns_of(options.mode), cli::line_width()) {}

    void begin() {
        if (!std::exchange(begun_, true)) print(json_ ? "[\n" : table_.header());
    }
    // JSON objects separated by commas.
    Status add(const std::string& records) {
        begin();
        const auto all = nlohmann::ordered_json::parse("[" + records + "]", nullptr, false);
        if (!all.is_array()) return Error{ExitCode::bad_input, "what it answered cannot be read"};
        for (const nlohmann::ordered_json& record : all) add(record);
        return success();
    }
    void add(const nlohmann::ordered_json& record) {
        begin();
        if (!options_.shows(record)) return;
        if (!json_) return print(table_.row(record));
        print((std::exchange(has_records_, true) ? ",\n" : "") +
              record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    }
    void end() {
        begin();
        if (json_) print(has_records_ ? "\n]\n" : "]\n");
        std::fflush(stdout);
    }

  private:
    static void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

    const StatusOptions& options_;
    const bool json_;
    const cli::StatusTable table_;
    bool begun_ = false;
    bool has_records_ = false;
};

// What the registry says of a manager that does not answer.
nlohmann::ordered_json known_of(const listening::Listing& listing) {
    return {{"project", listing.contact.name},
            {"name", listing.contact.host},
            {"port", listing.contact.port},
            {"tasks_waiting", listing.load.waiting},
            {"workers", listing.load.workers}};
}

Error with_remedy(const StatusOptions& options, const factory::FoundManager& manager, Error error) {
    error.message = manager.name + ": " + error.message;
    const bool no_key = manager.dial.key.empty() && options.place.password_file.empty();
    if (error.code == ExitCode::not_allowed && no_key)
        error.message += "; work_queue_status takes --contact FILE or --password FILE";
    return error;
}

// Runs of lists without a name. They need no answer of their manager: the figures are in their directory.
void add_noted_runs(Printer& printer) {
    using listening::RunSeen;
    const auto look = [&](const std::string& run) {
        const auto found = report::view_of_directory(run);
        if (!found) return RunSeen::unknown;
        if (!found->live) return found->status.exit_code ? RunSeen::ended : RunSeen::unknown;
        const core::ManagerStats& tasks = found->status.tasks;
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
    listening::noted_runs(listening::registry_folder(), look);
}

// Managers that only catalog servers know: their records say enough. Returns how many.
Result<std::size_t> add_records(const StatusOptions& options, const std::vector<factory::FoundManager>& found,
                                Printer& printer) {
    const auto records = cli::managers_of_catalogs(options, found);
    if (!records) return records.error();
    for (const nlohmann::ordered_json& record : *records) printer.add(record);
    return records->size();
}

// Returns the exit code.
int show_managers(const StatusOptions& options) {
    factory::ManagerPlace place = options.place;
    if (!options.needs_manager()) place.catalogs.clear();
    const auto found = factory::find_managers(
        place, options.name.empty() ? ".*" : options.name,
        [](const std::string& line) { std::fprintf(stderr, "work_queue_status: %s\n", line.c_str()); });
    if (!found) return complain(found.error());
    Printer printer(options);
    int code = 0;
    const auto ask = [&](std::size_t first, std::size_t end) {
        std::vector<net::TcpDialOptions> lines;
        for (std::size_t n = first; n < end; ++n) lines.push_back((*found)[n].dial);
        std::vector<std::string> records(lines.size());
        std::optional<Error> unreadable;
        const auto ends = factory::ask_listing(lines, options.listing(), options.place.limit,
                                               [&](std::size_t n, const std::string& part) {
                                                   if (options.needs_manager()) {
                                                       const Status shown = printer.add(part);
                                                       if (!shown) unreadable = shown.error();
                                                   } else {
                                                       records[n] += part;
                                                   }
                                               });
        for (std::size_t n = 0; n < lines.size(); ++n) {
            const factory::FoundManager& manager = (*found)[first + n];
            Status shown = ends[n];
            if (shown && !options.needs_manager()) shown = printer.add(records[n]);
            if (shown && unreadable) shown = *unreadable;
            if (shown) continue;
            if (manager.listing && !options.needs_manager()) printer.add(known_of(*manager.listing));
            const int failed = complain(with_remedy(options, manager, shown.error()));
            code = code == 0 ? failed : code;
        }
    };
    if (!options.needs_manager()) ask(0, found->size());
    for (std::size_t n = 0; options.needs_manager() && n < found->size(); ++n) ask(n, n + 1);
    if (options.shows_all() && options.mode == StatusOptions::Mode::queues) add_noted_runs(printer);
    bool any = !found->empty();
    if (options.by_name() && !options.needs_manager() && !options.place.catalogs.empty()) {
        const auto shown = add_records(options, *found, printer);
        if (!shown) code = complain(shown.error());
        any = any || !shown || *shown > 0;
    }
    if (!any && !options.name.empty())
        return complain(
            {ExitCode::unreachable, "no manager has a name that matches " + quote_for_message(options.name)});
    if (code == 0 || found->size() > 1 || (options.by_name() && !options.needs_manager())) printer.end();
    return code;
}

int show_factories(const StatusOptions& options) {
    const auto records = cli::factories_of_catalogs(options);
    if (!records) return complain(records.error());
    Printer printer(options);
    for (const nlohmann::ordered_json& record : *records) printer.add(record);
    printer.end();
    return 0;
}

int show_run(const StatusOptions& options) {
    const auto text = cli::run_status(options.run, options.json);
    if (!text) return complain(text.error());
    std::printf("%s\n", text->c_str());
    std::fflush(stdout);
    return 0;
}

// A run is shown by its own line unless a table is wanted, which its manager fills.
int show(StatusOptions options) {
    if (options.mode == StatusOptions::Mode::factories) return show_factories(options);
    if (options.run.empty()) return show_managers(options);
    if (!options.has_mode && !net::read_contact(options.run)) return show_run(options);
    const auto contact = cli::contact_of_run(options.run);
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
    const auto options = cli::parse_status_options(argc, argv);
    if (!options) return complain(options.error());
    int code = 0;
    if (options->help)
        std::fputs(cli::status_help().c_str(), stdout);
    else if (options->version)
        std::puts("work_queue_status " WQ_VERSION);
    else
        code = options->every ? repeat(*options) : show(*options);
    return after_output("work_queue_status", code);
}
