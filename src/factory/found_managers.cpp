#include "factory/found_managers.h"

#include <unistd.h>

#include "base/units.h"
#include "factory/ask_status.h"
#include "net/contact.h"
#include "records/run_status.h"

namespace wq::factory {

namespace {

std::string name_of(const net::Contact& contact) {
    const std::string place = net::to_text({contact.host, contact.port});
    return contact.name.empty() ? place : line_for_message(contact.name) + " (" + place + ")";
}

Status add_security(const ManagerPlace& place, net::TcpDialOptions& dial) {
    if (!place.password_file.empty()) {
        auto password = net::read_password(place.password_file);
        if (!password) return password.error();
        dial.key = std::move(*password);
    }
    net::add_tls(dial, place.ssl, place.ssl_ca);
    return success();
}

}  // namespace

Result<std::vector<FoundManager>> find_managers(const ManagerPlace& place, const std::string& name) {
    std::vector<FoundManager> found;
    if (!place.managers.empty()) {
        net::TcpDialOptions dial;
        dial.managers = place.managers;
        found.push_back({net::to_text(place.managers.front()), std::move(dial)});
    } else if (!place.contact.empty()) {
        const auto contact = net::read_contact(place.contact);
        if (!contact) return contact.error();
        found.push_back({name_of(*contact), net::dial_options(*contact)});
    } else {
        const auto listed = listening::find_managers(listening::registry_folder(), name, 0);
        if (!listed) return listed.error();
        for (const listening::Listing& listing : *listed)
            found.push_back({name_of(listing.contact), net::dial_options(listing.contact), listing});
    }
    for (FoundManager& each : found)
        if (const Status status = add_security(place, each.dial); !status) return status.error();
    return found;
}

Result<Answers> FoundManagers::ask(const Settings& settings) {
    Answers answers;
    if (!place_.contact.empty() && ::access(place_.contact.c_str(), F_OK) != 0) {
        answers.ended = records::end_of_run(place_.contact);
        if (answers.ended != Ended::no || found_) return answers;
    }
    auto found = find_managers(place_, settings.manager_name);
    if (!found) return found.error();
    found_ = true;
    std::vector<net::TcpDialOptions> lines;
    for (const FoundManager& each : *found) lines.push_back(each.dial);
    auto reports = ask_status(lines, place_.limit, place_.stop);
    for (std::size_t n = 0; n < reports.size(); ++n) {
        const bool unreachable = !reports[n] && reports[n].error().code == ExitCode::unreachable;
        if (unreachable && !place_.contact.empty())
            reports[n] = Error{ExitCode::unreachable, reports[n].error().message + " (" + place_.contact +
                                                          " is left over if its manager has ended)"};
        answers.managers.push_back({(*found)[n].name, std::move(reports[n])});
    }
    return answers;
}

}  // namespace wq::factory
