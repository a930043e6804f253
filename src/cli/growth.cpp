#include "cli/growth.h"

#include "base/units.h"

namespace wq::cli {

namespace {

// Batch systems may take this long to remove jobs; then the factory goes on alone.
constexpr Duration longest_end = std::chrono::seconds(20);

}  // namespace

Result<Growth> Growth::start(const Grow& grow, const std::string& run_directory, const std::string& contact) {
    const auto program = factory::find_factory_program();
    if (!program) return program.error();
    auto factory = factory::FactoryProcess::start(
        *program,
        {"-T", grow.system, "-w", std::to_string(grow.least), "-W", std::to_string(grow.most), "-S",
         run_directory + "/workers", "--contact", contact},
        grow.options);
    if (!factory) return factory.error();
    return Growth(std::move(*factory));
}

void Growth::look(const std::function<void(const std::string&)>& say) {
    factory_.look(say);
    if (factory_.running() || told_end_) return;
    told_end_ = true;
    say("the factory has ended: no more workers are submitted");
}

std::string Growth::text() const {
    const auto& report = factory_.report();
    if (!report || !factory_.running()) return {};
    const std::int64_t coming = report->supply.pending + report->supply.starting;
    return coming > 0 ? count_of(static_cast<std::uint64_t>(coming), "worker") + " pending" : std::string();
}

void Growth::end(const std::function<void(const std::string&)>& say) {
    told_end_ = true;
    factory_.stop(longest_end, say);
}

}  // namespace wq::cli
