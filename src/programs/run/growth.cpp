#include "programs/run/growth.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "node/machine/asked_command.h"

namespace wq::programs::run {

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
    constexpr std::string_view sayer = "work_queue_factory: ";
    if (why.starts_with(sayer)) why.erase(0, sayer.size());
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

void Growth::take_reports(const std::function<void(const std::string&)>& say, std::int64_t connected) {
    factory_.take_reports(say);
    connected_ = connected;
    if (const auto& report = factory_.report();
        report && report->time != std::exchange(reported_, report->time))
        connected_then_ = connected;
    if (factory_.running() || told_end_) return;
    told_end_ = true;
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
    told_end_ = true;
    factory_.stop(longest_end, say);
}

}  // namespace wq::programs::run
