#include "factory/found_managers.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <sstream>
#include <system_error>
#include <variant>

#include "base/units.h"
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

Result<Answers> FoundManagers::ask(const PoolSettings& settings) {
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
        place, settings.manager_name, [this](const std::string& line) { print_once(line, line); }, &*finder_);
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
        print_once(manager.name + std::to_string(to_int(error.code)),
                   manager.name + ": " + line_for_message(net::frames::in_one_line(error.message)) +
                       (refuses ? "; its catalog record says how many tasks it has" : ""));
        if (refuses) answer.report = report_of(*manager.record);
        answer.by_record = RecordedAnswer{manager.record->heard, manager.record->workers};
    }
    answer.at = manager.dial.managers.empty() ? net::frames::HostPort{} : manager.dial.managers.front();
    if (manager.listing) answer.project = manager.listing->contact.name;
    return answer;
}

void FoundManagers::print_once(const std::string& what, const std::string& line) {
    constexpr std::size_t most_said = 100;
    if (said_.size() < most_said && said_.insert(what).second) say(line);
}

namespace {

using Answer = Result<net::messages::StatusReport>;

constexpr std::size_t most_answer_bytes = std::size_t{64} << 20;

// A manager's figures are added up.
Answer checked(net::messages::StatusReport report) {
    if (report.version != net::messages::protocol_version)
        return Error{ExitCode::not_allowed, "it speaks protocol " + std::to_string(report.version) +
                                                ", we speak " +
                                                std::to_string(net::messages::protocol_version)};
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    for (net::messages::TasksOfShape& shape : report.shapes)
        shape.ready = std::min(shape.ready, most), shape.on_workers = std::min(shape.on_workers, most);
    report.further = std::min(report.further, most);
    report.capacity_tasks =
        std::clamp<std::int64_t>(report.capacity_tasks, 0, static_cast<std::int64_t>(most));
    for (net::messages::WorkerStatus& worker : report.workers)
        worker.offers.cores = std::min(worker.offers.cores, Count(most_cores));
    return report;
}

class Question {
  public:
    using TakePart = std::function<void(const std::string& records)>;

    Question(net::frames::TcpDialOptions manager, net::messages::StatusOf what, TakePart take)
        : take_(std::move(take)), heard_(instant_now()) {
        query_.what = what;
        manager.limits.most_frame_bytes = std::min(manager.limits.most_frame_bytes, most_answer_bytes);
        auto line = net::frames::TcpDialer::open(std::move(manager));
        if (line)
            line_ = std::move(*line);
        else
            answer_.emplace(line.error());
    }

    void take_arrivals() {
        std::vector<net::frames::Arrival> inbox;
        if (line_) line_->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) {
            if (answer_) return;
            std::visit([this](const auto& known) { on(known); }, arrival);
        }
    }

    bool answered() const { return answer_.has_value(); }
    Instant last_heard() const { return heard_; }  // the last part, or when it was asked
    int descriptor() const { return answer_ ? -1 : line_->descriptors().front(); }
    Answer take(const Error& otherwise) { return answer_ ? std::move(*answer_) : Answer(otherwise); }

  private:
    void on(const net::frames::Joined&) {
        line_->admit(net::frames::TcpDialer::manager);
        ask();
    }
    void ask() { line_->send(net::frames::TcpDialer::manager, net::messages::encode(query_)); }
    void on(const net::frames::Frame& frame) {
        const auto messages = net::messages::decode(frame.bytes);
        if (!messages) return end(Error{ExitCode::bad_input, "the answer of the manager cannot be read"});
        for (const net::messages::Message& message : *messages) {
            if (const auto* refused = std::get_if<net::messages::Refused>(&message))
                return end(Error{ExitCode::not_allowed, line_for_message(refused->why)});
            if (const auto* report = std::get_if<net::messages::StatusReport>(&message))
                return end(checked(*report));
            if (const auto* part = std::get_if<net::messages::StatusPart>(&message)) return on(*part);
        }
    }
    void on(const net::messages::StatusPart& part) {
        const bool goes_on = part.next > query_.from;
        if (!take_ || (part.next != 0 && !goes_on))
            return end(Error{ExitCode::bad_input, "the answer of the manager cannot be read"});
        take_(part.records);
        heard_ = instant_now();
        if (!goes_on) return end(net::messages::StatusReport{});
        query_.from = part.next;
        ask();
    }
    void on(const net::frames::Left& left) {
        const auto failure = line_->failure();
        end(failure ? *failure : Error{ExitCode::unreachable, left.why});
    }
    void end(Answer answer) { answer_.emplace(std::move(answer)); }

    net::messages::StatusQuery query_;
    TakePart take_;  // empty: for the shapes
    Instant heard_;
    std::unique_ptr<net::frames::TcpDialer> line_;
    std::optional<Answer> answer_;
};

int milliseconds_until(Instant until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - instant_now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

// Until all have answered, nothing came for `limit`, or `stop` is readable. The answers, in their order.
std::vector<Answer> await(const std::vector<std::unique_ptr<Question>>& questions, Duration limit, int stop) {
    Error missing{ExitCode::unreachable, "it did not answer within " + format_duration(limit)};
    for (;;) {
        std::vector<pollfd> descriptors{{stop, POLLIN, 0}};
        Instant heard{};
        for (const auto& question : questions) {
            question->take_arrivals();
            heard = std::max(heard, question->last_heard());
            if (!question->answered()) descriptors.push_back({question->descriptor(), POLLIN, 0});
        }
        if (descriptors.size() == 1 || instant_now() >= heard + limit) break;
        ::poll(descriptors.data(), descriptors.size(), milliseconds_until(heard + limit));
        if ((descriptors.front().revents & POLLIN) != 0) {
            missing.message = "stopped before it answered";
            break;
        }
    }
    std::vector<Answer> answers;
    for (const auto& question : questions) answers.push_back(question->take(missing));
    return answers;
}

}  // namespace

std::vector<Answer> ask_status(const std::vector<net::frames::TcpDialOptions>& managers, Duration limit,
                               int stop) {
    std::vector<std::unique_ptr<Question>> questions;
    for (const net::frames::TcpDialOptions& manager : managers)
        questions.push_back(std::make_unique<Question>(manager, net::messages::StatusOf::shapes, nullptr));
    return await(questions, limit, stop);
}

std::vector<Status> ask_listing(
    const std::vector<net::frames::TcpDialOptions>& managers, net::messages::StatusOf what, Duration limit,
    const std::function<void(std::size_t manager, const std::string& records)>& take) {
    std::vector<std::unique_ptr<Question>> questions;
    for (std::size_t n = 0; n < managers.size(); ++n)
        questions.push_back(std::make_unique<Question>(
            managers[n], what, [&take, n](const std::string& records) { take(n, records); }));
    std::vector<Status> ends;
    for (const Answer& answer : await(questions, limit, -1))
        ends.push_back(answer ? success() : Status(answer.error()));
    return ends;
}

bool nobody_listens(const Error& error) {
    const std::string end = ": " + std::system_category().message(ECONNREFUSED);
    std::istringstream lines(error.message);
    bool refused = error.code == ExitCode::unreachable;
    for (std::string line; std::getline(lines, line);) refused = refused && line.ends_with(end);
    return refused;
}

}  // namespace wq::factory
