#include "programs/run/tcp_workers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "engine/tasklist/sources.h"
#include "net/frames/tls_identity.h"
#include "node/machine/asked_command.h"

namespace wq::programs::run {

namespace {

std::string words_on_catalogs(const std::string& password_file) {
    if (password_file.empty())
        return "; workers that find the run only by a catalog server need a password: start the run with "
               "--password FILE";
    return " (from machines that do not see the registry: with --password " +
           engine::tasklist::shell_quote(password_file) + ")";
}

}  // namespace

// Removes the file whatever its mode: the run has locked its directory, so nobody else has written it.
Listening::~Listening() {
    ::unlink(contact_path_.c_str());
}

Result<std::unique_ptr<Listening>> Listening::open(const RunOptions& options,
                                                   const std::string& run_directory,
                                                   const std::string& folder) {
    auto identity = net::frames::make_identity();
    if (!identity) return identity.error();
    auto mark = net::contact::MarkFile::make(folder, run_directory);
    if (!mark) return mark.error();
    net::frames::TcpListenOptions tcp;
    tcp.low_port = tcp.high_port = *options.listen;
    const auto say = [](const std::string& text) {
        std::fprintf(stderr, "work_queue_run: %s\n", text.c_str());
    };
    auto key = options.password_file.empty() ? Result<std::string>(net::frames::fresh_key())
                                             : net::frames::read_password(options.password_file, say);
    if (!key) return key.error();
    tcp.key = std::move(*key);
    tcp.tls = std::move(*identity);
    // Of a worker's last task: both streams, behind messages of a frame.
    constexpr std::uint64_t other_messages = 64u << 20;
    tcp.limits.most_frame_bytes = 2 * options.output_limit + other_messages;
    auto port = net::contact::open_port(std::move(tcp), {options.name, options.catalog}, say);
    if (!port) return port.error();
    std::unique_ptr<Listening> listening(
        new Listening(std::move(*port), run_directory + "/contact", std::move(*mark)));
    if (listening->port_.announcer) listening->of_catalogs_ = words_on_catalogs(options.password_file);
    if (Status written = listening->port_.write_contact(listening->contact_path_); !written)
        return written.error();
    return listening;
}

manager::status::QueueOfStatus Listening::described() const {
    const net::frames::Contact contact = port_.contact();
    return manager::status::described(contact.name, contact.port, contact.tls, contact.addresses);
}

std::string Listening::description() const {
    const std::string name = port_.contact().name;
    return "listening on port " + std::to_string(port_.number()) +
           "; workers join with: work_queue_worker --contact " +
           engine::tasklist::shell_quote(contact_path_) +
           (name.empty() ? "" : ", or: work_queue_worker -M " + engine::tasklist::shell_quote(name)) +
           of_catalogs_;
}

std::vector<std::string> Listening::take_news(bool all) {
    std::vector<std::string> news;
    for (const net::frames::Note& note : workers().take_notes()) {
        const std::string text = (note.refusal ? "worker " : "") + note.text;
        if (all)
            news.push_back(text);
        else if (note.refusal && !std::exchange(printed_refusal_, true))
            news.push_back(text + " (-v shows every refused worker)");
    }
    return news;
}

namespace {

// Batch systems may take this long to remove jobs; then the factory goes on alone.
constexpr Duration longest_end = std::chrono::seconds(20);

}  // namespace

// Options that the factory does not take are refused before the run begins.
Status check(const Grow& grow) {
    const auto program = wq::factory::find_factory_program();
    if (!program) return program.error();
    constexpr Duration limit = std::chrono::seconds(30);
    node::machine::AskedCommand asked(
        {"/bin/sh", "-c", "exec \"$@\" " + grow.options, "sh", *program, "--dry-run", "-T", grow.system, "-w",
         std::to_string(grow.least), "-W", std::to_string(grow.most), "--manager-name", "any"},
        node::machine::AskedCommand::Errors::kept);
    if (!asked.answer(limit))
        return Error{ExitCode::unreachable, "--grow: work_queue_factory does not answer"};
    if (asked.exit_code() == 0) return success();
    std::string why = asked.errors();
    while (why.ends_with('\n')) why.pop_back();
    why.erase(0, why.rfind('\n') + 1);  // remarks before it
    constexpr std::string_view prefix = "work_queue_factory: ";
    if (why.starts_with(prefix)) why.erase(0, prefix.size());
    return Error{ExitCode::usage, "--grow: " + line_for_message(why, 400)};
}

Result<Growth> Growth::start(const Grow& grow, const std::string& run_directory, const std::string& contact) {
    const auto program = wq::factory::find_factory_program();
    if (!program) return program.error();
    auto factory = wq::factory::FactoryProcess::start(
        *program,
        {"-T", grow.system, "-w", std::to_string(grow.least), "-W", std::to_string(grow.most), "-S",
         run_directory + "/workers", "--contact", contact},
        grow.options);
    if (!factory) return factory.error();
    return Growth(std::move(*factory));
}

void Growth::handle_reports(const std::function<void(const std::string&)>& say, std::int64_t connected) {
    factory_.handle_reports(say);
    connected_ = connected;
    if (const auto& report = factory_.report();
        report && report->time != std::exchange(reported_, report->time))
        connected_then_ = connected;
    if (factory_.running() || printed_end_) return;
    printed_end_ = true;
    say("the factory has ended: no more workers are submitted");
}

std::int64_t Growth::pending() const {
    const auto& report = factory_.report();
    if (!report) return 0;
    // The supply was counted before the submission, and before some have joined.
    const std::int64_t joined = std::max<std::int64_t>(connected_ - connected_then_, 0);
    return std::max<std::int64_t>(
        report->supply.pending + report->supply.starting + report->submitted - joined, 0);
}

std::string Growth::text() const {
    const auto& report = factory_.report();
    if (!report || !factory_.running()) return {};
    if (!report->held.empty()) return "none submitted: " + line_for_message(report->held, 80);
    const std::int64_t coming = pending();
    if (coming == 0) return {};
    const std::string why =
        report->pending_why.empty() ? "" : " (" + line_for_message(report->pending_why, 40) + ")";
    return count_of(static_cast<std::uint64_t>(coming), "worker") + " pending" + why;
}

void Growth::end(const std::function<void(const std::string&)>& say) {
    printed_end_ = true;
    factory_.stop(longest_end, say);
}

}  // namespace wq::programs::run
