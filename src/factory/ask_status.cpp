#include "factory/ask_status.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <variant>

#include "base/amounts.h"
#include "base/units.h"

namespace wq::factory {

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
    Instant heard() const { return heard_; }  // the last part, or when it was asked
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
        if (!messages) return end(Error{ExitCode::bad_input, "what it answered cannot be read"});
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
            return end(Error{ExitCode::bad_input, "what it answered cannot be read"});
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
std::vector<Answer> await(std::vector<std::unique_ptr<Question>> questions, Duration limit, int stop) {
    Error missing{ExitCode::unreachable, "it did not answer within " + format_duration(limit)};
    for (;;) {
        std::vector<pollfd> descriptors{{stop, POLLIN, 0}};
        Instant heard{};
        for (const auto& question : questions) {
            question->take_arrivals();
            heard = std::max(heard, question->heard());
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
    return await(std::move(questions), limit, stop);
}

std::vector<Status> ask_listing(
    const std::vector<net::frames::TcpDialOptions>& managers, net::messages::StatusOf what, Duration limit,
    const std::function<void(std::size_t manager, const std::string& records)>& take) {
    std::vector<std::unique_ptr<Question>> questions;
    for (std::size_t n = 0; n < managers.size(); ++n)
        questions.push_back(std::make_unique<Question>(
            managers[n], what, [&take, n](const std::string& records) { take(n, records); }));
    std::vector<Status> ends;
    for (const Answer& answer : await(std::move(questions), limit, -1))
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
