#include "net/contact/announcer.h"

#include <set>
#include <string_view>

#include "base/descriptor.h"
#include "base/json.h"

namespace wq::net::contact {

namespace {

constexpr Duration limit_of_the_end = std::chrono::seconds(2);

// What CCTools' managers send if the whole record does not fit in a datagram, and what our workers and those
// who look at factories need.
Json lean(const Json& record) {
    static const std::set<std::string_view> kept{"type",
                                                 "version",
                                                 "port",
                                                 "ssl",
                                                 "owner",
                                                 "project",
                                                 "starttime",
                                                 "name",
                                                 "priority",
                                                 "protocol",
                                                 "wire",
                                                 "manager_preferred_connection",
                                                 "tasks_waiting",
                                                 "tasks_running",
                                                 "tasks_complete",
                                                 "tasks_on_workers",
                                                 "tasks_left",
                                                 "capacity_tasks",
                                                 "capacity_cores",
                                                 "capacity_memory",
                                                 "capacity_disk",
                                                 "workers",
                                                 "lifetime",
                                                 "workers_connected",
                                                 "network_interfaces",
                                                 "factory_name",
                                                 "max_workers",
                                                 "workers_needed",
                                                 "workers_submitted",
                                                 "workers_to_connect",
                                                 "project_regex"};
    Json few = Json::object();
    for (const auto& [key, value] : record.members())
        if (kept.contains(key)) few[key] = value;
    return few;
}

}  // namespace

// Shared with a thread that may outlive the announcer.
struct Announcer::Line {
    Announcement to;
    Wake ended{};
    std::string last{};  // the record that was sent
    bool taken = false;  // by a server, perhaps

    Status send(const std::string& text, Duration lifetime, int stop, Duration limit) const {
        Json record = Json::parse(text);
        if (!record.is_object()) return Error{ExitCode::bad_input, "the record is no JSON object"};
        record["lifetime"] = lifetime / std::chrono::seconds(1);
        const Json few = lean(record);
        return catalog::send_update(to.hosts, record, to.way, &few, stop, limit);
    }
    Status update(const std::string& text) {
        last = text;
        Status sent = send(text, record_lifetime, ended.descriptor(), catalog::update_limit);
        // A server may have it although another did not answer until the end.
        taken = taken || sent.ok() || sent.error().code == ExitCode::interrupted;
        return sent;
    }
    void end() const {
        if (taken) static_cast<void>(send(last, std::chrono::seconds(1), -1, limit_of_the_end));
    }
};

Result<Announcement> announcement_of(const std::string& option) {
    auto hosts = catalog::named_catalog_hosts(option);
    if (!hosts) return hosts.error();
    const auto way = catalog::update_way_of_environment();
    if (!way) return way.error();
    return Announcement{std::move(*hosts), *way};
}

namespace {

RepeatedWorkOptions announcing_options(const std::string& hosts, const std::string& whose,
                                       std::function<void(const std::string&)> say) {
    RepeatedWorkOptions options;
    options.timeout = limit_of_the_end + std::chrono::seconds(1);
    options.say = std::move(say);
    options.failed = [whose](const std::string& why) {
        return "no catalog server takes the record of " + whose + ": " + why +
               "; nobody finds it there until one does";
    };
    options.succeeded_again = "a catalog server takes the record of " + whose + " again (" + hosts + ")";
    return options;
}

}  // namespace

Announcer::Announcer(Announcement announcement, const std::string& whose,
                     std::function<void(const std::string&)> say)
    : line_(std::make_shared<Line>(Line{std::move(announcement)})), writing_([&] {
          RepeatedWorkOptions options =
              announcing_options(catalog::to_text(line_->to.hosts), whose, std::move(say));
          options.last = [line = line_] { line->end(); };
          return options;
      }()) {}

Announcer::~Announcer() {
    writing_.report_outcome();
    line_->ended.set();
}

void Announcer::take(const std::function<std::string()>& record) {
    if (record)
        publish_record(record());
    else
        writing_.report_outcome();
}

void Announcer::publish_record(std::string record) {
    writing_.post([line = line_, text = std::move(record)] { return line->update(text); },
                  RepeatedWork::When::at_once);
}

}  // namespace wq::net::contact
