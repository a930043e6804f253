#include "factory/found_managers.h"

#include <unistd.h>

#include <algorithm>

#include "base/amounts.h"
#include "base/units.h"
#include "factory/ask_status.h"
#include "net/contact/named_managers.h"
#include "net/frames/contact.h"
#include "records/journal/run_status.h"

namespace wq::factory {

namespace {

// An answer has a line for each worker.
constexpr std::size_t most_answer_bytes_of_record = std::size_t{4} << 20;

std::string name_of(const net::contact::NamedManager& manager) {
    const std::string place = net::contact::place_of(manager);
    const std::string& name = manager.listing.contact.name;
    return name.empty() ? place : line_for_message(name) + " (" + place + ")";
}

// Of the registry, and of catalog servers.
Result<std::vector<FoundManager>> find_named(const ManagerPlace& place, const std::string& name,
                                             const std::function<void(const std::string&)>& say,
                                             net::contact::NameFinder& finder) {
    const auto pattern = net::contact::NamePattern::of(name);
    if (!pattern) return pattern.error();
    const auto named = finder.find(*pattern, 0, instant_now() + place.limit, place.stop);
    if (!named) return named.error();
    if (say) {
        if (!named->trouble.empty()) say("no catalog server answers: " + named->trouble);
        for (const std::string& line : net::contact::remarks_on(*named)) say(line);
    }
    return to_ask(*named, say);
}

// What a record says, in place of the manager's own answer.
net::messages::StatusReport report_of(const net::contact::ManagerRecord& record) {
    net::messages::StatusReport report;
    const std::uint64_t tasks = record.waiting + record.on_workers;
    const auto each = [&](std::uint64_t total) {
        return total == 0 || tasks == 0 ? std::int64_t{-1}
                                        : static_cast<std::int64_t>((total + tasks - 1) / tasks);
    };
    net::messages::TasksOfShape shape;
    shape.needs =
        engine::model::Needs{std::min(each(record.total_cores), most_cores), each(record.total_memory_mb),
                             each(record.total_disk_mb), std::min(each(record.total_gpus), most_cores)};
    shape.ready = record.waiting;
    shape.on_workers = record.on_workers;
    report.shapes.push_back(std::move(shape));
    report.further = record.left;
    return report;
}

}  // namespace

Status add_security(const ManagerPlace& place, net::frames::TcpDialOptions& dial) {
    if (!place.password_file.empty()) {
        auto password = net::frames::read_password(place.password_file);
        if (!password) return password.error();
        dial.key = std::move(*password);
    }
    net::frames::add_tls(dial, place.ssl, place.ssl_ca);
    return success();
}

std::vector<FoundManager> to_ask(const net::contact::NamedManagers& named,
                                 const std::function<void(const std::string&)>& say) {
    std::vector<FoundManager> found, recorded;
    std::size_t left_out = 0;
    for (const net::contact::NamedManager& each : named.managers) {
        FoundManager manager{name_of(each), net::frames::dial_options(each.listing.contact), each.listing,
                             each.record};
        if (!each.record) {
            found.push_back(std::move(manager));
        } else if (recorded.size() < most_recorded_managers) {
            manager.dial.limits.most_frame_bytes = most_answer_bytes_of_record;
            recorded.push_back(std::move(manager));
        } else {
            ++left_out;
        }
    }
    if (left_out > 0 && say)
        say(count_of(left_out, "manager") + " of catalogs " + (left_out == 1 ? "is" : "are") +
            " left out: at most " + std::to_string(most_recorded_managers) + " are asked");
    std::move(recorded.begin(), recorded.end(), std::back_inserter(found));
    return found;
}

Result<std::vector<FoundManager>> find_managers(const ManagerPlace& place, const std::string& name,
                                                const std::function<void(const std::string&)>& say,
                                                net::contact::NameFinder* finder) {
    std::vector<FoundManager> found;
    if (!place.managers.empty()) {
        net::frames::TcpDialOptions dial;
        dial.managers = place.managers;
        found.push_back({net::frames::to_text(place.managers.front()), std::move(dial)});
    } else if (!place.contact.empty()) {
        const auto contact = net::frames::read_contact(place.contact);
        if (!contact) return contact.error();
        found.push_back({name_of({{*contact, {}}, std::nullopt}), net::frames::dial_options(*contact)});
    } else if (!place.catalogs.empty()) {
        net::contact::NameFinder own(place.catalogs);
        auto named = find_named(place, name, say, finder != nullptr ? *finder : own);
        if (!named) return named.error();
        found = std::move(*named);
    } else {
        const auto listed = net::contact::find_managers(net::contact::registry_folder(), name, 0);
        if (!listed) return listed.error();
        for (const net::contact::Listing& listing : *listed)
            found.push_back(
                {name_of({listing, std::nullopt}), net::frames::dial_options(listing.contact), listing});
    }
    for (FoundManager& each : found)
        if (const Status status = add_security(place, each.dial); !status) return status.error();
    return found;
}

Result<Answers> FoundManagers::ask(const Settings& settings) {
    Answers answers;
    if (!place_.contact.empty() && ::access(place_.contact.c_str(), F_OK) != 0) {
        answers.ended = records::journal::end_of_run(place_.contact);
        if (answers.ended != Ended::no || found_) return answers;
    }
    ManagerPlace place = place_;
    if (place.managers.empty() && place.contact.empty()) {
        auto hosts = net::catalog::named_catalog_hosts(settings.catalog);
        if (!hosts) return hosts.error();
        place.catalogs = std::move(*hosts);
    }
    if (!finder_ || finder_->catalogs() != place.catalogs) finder_.emplace(place.catalogs);
    auto found = find_managers(
        place, settings.manager_name, [this](const std::string& line) { say_once(line, line); }, &*finder_);
    if (!found) return found.error();
    found_ = true;
    std::vector<net::frames::TcpDialOptions> lines;
    for (const FoundManager& each : *found) lines.push_back(each.dial);
    auto reports = ask_status(lines, place_.limit, place_.stop);
    for (std::size_t n = 0; n < reports.size(); ++n) {
        const bool unreachable = !reports[n] && reports[n].error().code == ExitCode::unreachable;
        if (unreachable && !place_.contact.empty())
            reports[n] = Error{ExitCode::unreachable, reports[n].error().message + " (" + place_.contact +
                                                          " is left over if its manager has ended)"};
        answers.managers.push_back(answer_of((*found)[n], std::move(reports[n])));
    }
    return answers;
}

// A manager that refuses us is there, so that its record counts; one that is not reached may be gone.
ManagerAnswer FoundManagers::answer_of(const FoundManager& manager,
                                       Result<net::messages::StatusReport> report) {
    ManagerAnswer answer{manager.name, std::move(report)};
    if (!answer.report && manager.record) {
        const Error error = answer.report.error();
        const bool refuses = error.code == ExitCode::not_allowed;
        // Its words depend on the address that was reached first.
        say_once(manager.name + std::to_string(to_int(error.code)),
                 manager.name + ": " + line_for_message(net::frames::in_one_line(error.message)) +
                     (refuses ? "; its catalog record says how many tasks it has" : ""));
        if (refuses) answer.report = report_of(*manager.record);
        answer.by_record = RecordedAnswer{manager.record->heard, manager.record->workers};
    }
    answer.at = manager.dial.managers.empty() ? net::frames::HostPort{} : manager.dial.managers.front();
    if (manager.listing) answer.project = manager.listing->contact.name;
    return answer;
}

void FoundManagers::say_once(const std::string& what, const std::string& line) {
    constexpr std::size_t most_said = 100;
    if (said_.size() < most_said && said_.insert(what).second) say(line);
}

}  // namespace wq::factory
