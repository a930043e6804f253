#include "slices/queue/giving.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "api/setup_error.h"
#include "base/units.h"
#include "net/frames/contact.h"
#include "net/frames/tls_identity.h"
#include "records/journal/held_file.h"
#include "slices/queue/h5_checkpoint.h"
#include "slices/queue/line_printer.h"

namespace wq::slices::queue {

namespace {

constexpr std::uint64_t few_slices = 10;  // of each rank: below, the last ones decide how long all take

plan::PassLedger ledger_of(const Pass& pass, const IntervalSet& committed) {
    constexpr plan::Delivery deliveries[] = {plan::Delivery::exactly_once, plan::Delivery::at_most_once,
                                             plan::Delivery::at_least_once};
    return {pass.positions(), deliveries[static_cast<std::size_t>(pass.options().delivery)], committed};
}

net::frames::TcpListenOptions listen_options() {
    net::frames::TcpListenOptions options;
    options.key = net::frames::fresh_key();
    options.limits = claims::feed_limits();
    return options;
}

}  // namespace

claims::TakerOptions taker_options(const Pass& pass, const std::string& node, std::uint32_t rank) {
    claims::TakerOptions options;
    options.node = node;
    options.rank = rank;
    options.clock = [] { return wall_now(); };
    options.say = printer_with_name(pass.options());
    return options;
}

// ---- the port ----

GivingPort::GivingPort(const SliceOptions& options, const Ranks& ranks) {
    // The program may change its folder.
    if (!options.contact.empty()) file_ = std::filesystem::absolute(options.contact);
    if (!file_.empty())
        open_for_workers();
    else if (ranks.count > 1)
        open_for_ranks(ranks.all_here);
}

GivingPort::GivingPort(GivingPort&& other) noexcept
    : file_(std::exchange(other.file_, {})),
      port_(std::exchange(other.port_, std::nullopt)),
      listener_(std::move(other.listener_)),
      contact_(std::move(other.contact_)) {}

GivingPort::~GivingPort() {
    if (port_) port_->remove_contact(file_);
}

// Reached from this machine only, if all ranks are here.
void GivingPort::open_for_ranks(bool all_here) {
    net::frames::TcpListenOptions options = listen_options();
    net::frames::Contact contact;
    contact.key = options.key;
    const std::vector<std::string> here = {"127.0.0.1"};
    if (all_here) options.bind = here;
    listener_ = api::checked(net::frames::TcpListener::open(std::move(options)));
    contact.port = listener_->port();
    contact.addresses = all_here ? here : net::frames::own_addresses();
    contact_ = net::frames::to_json(contact);
}

void GivingPort::open_for_workers() {
    net::frames::TcpListenOptions options = listen_options();
    options.tls = api::checked(net::frames::make_identity());
    port_.emplace(api::checked(net::contact::open_port(std::move(options), {}, [](const std::string&) {})));
    contact_ = net::frames::to_json(port_->contact());
    listener_ = std::move(port_->listener);
}

void GivingPort::publish() const {
    if (!port_) return;
    if (const Status written = port_->write_contact(file_); !written) throw api::setup_error(written.error());
}

std::unique_ptr<net::frames::TcpListener> GivingPort::take_listener() {
    return std::move(listener_);
}

// ---- the giving process ----

Giving::Giving(GivingOptions options)
    : works_(std::move(options.works)),
      pass_(std::move(options.pass)),
      statistics_(*pass_),
      tickets_(std::move(options.tickets)),
      port_(std::move(options.port)) {
    remark(options.ranks);
    // Once the line is there, others wait for us: nothing fails then.
    claims::GiverLineOptions giver{port_.take_listener(), ledger_of(*pass_, options.committed)};
    giver.epoch = pass_->plan().size();
    giver.ranks = options.ranks;
    giver.say = printer_with_name(pass_->options());
    if (pass_->options().record_each)
        giver.record = [this](std::uint32_t rank, const claims::Timed& each) {
            statistics_.record(rank, each);
        };
    if (!pass_->options().contact.empty()) {
        server_ = std::make_unique<RecordServer>(works_, pass_->bytes());
        giver.service = server_.get();
    }
    line_ = std::make_unique<claims::GiverLine>(std::move(giver), *tickets_.pool,
                                                taker_options(*pass_, tickets_.name, 0));
    if (server_) server_->answer_through(*line_);
}

Giving::~Giving() {
    line_->close();
    if (server_) server_->stop();
    statistics_.finish();  // its last sample has what all others did until they left
}

bool Giving::leave() {
    const bool lost = taker().failure().has_value();  // before its own line ends
    line_->close();
    return lost || line_->report().lost_ranks > 0;
}

void Giving::remark(std::uint64_t ranks) const {
    const auto say = printer_with_name(pass_->options());
    if (const std::string remark = works_.remark(); !remark.empty()) say(remark);
    if (ranks == 1 || pass_->plan().size() >= few_slices * ranks) return;
    say(count_of(pass_->plan().size(), "slice") + " for " + count_of(ranks, "rank") +
        ": with fewer than 10 slices for each rank, fast ranks wait for slow ones at the end");
}

void Giving::save(const std::string& path) {
    IntervalSet committed = line_->committed_by_all();
    line_->failed().for_each([&](const Interval& range) { committed.erase(range); });
    statistics_.write_now();  // so that audits find what the checkpoint counts
    const std::string& name = pass_->options().name;
    if (const auto why = taker().failure()) throw std::runtime_error(name + ": " + *why);
    Status written = records::journal::refuse_if_held(path);
    if (written)
        written = write_checkpoint(path, {pass_->plan().digest(), pass_->plan().size(),
                                          pass_->options().shuffle, pass_->seed(), committed});
    if (written) {
        auto held = records::journal::hold_file(path);
        if (held)
            saved_to_ = std::move(*held);
        else
            written = held.error();
    }
    if (!written) throw std::runtime_error(name + ": " + written.error().message);
}

void Giving::add_summary(const SliceSummaryOptions& options) {
    statistics_.open(options, [this] { return line_->report(); });
}

void Statistics::record(std::uint32_t rank, const claims::Timed& each) {
    const std::lock_guard lock(mutex_);
    const records::hdf5::SliceRow row = row_of(rank, each);
    summary_ ? summary_->add(row) : early_rows_.push_back(row);
}

void Statistics::open(const SliceSummaryOptions& options, std::function<claims::GiverReport()> report) {
    const std::string& name = pass_.options().name;
    if (summary_) throw SetupError(name + ": it has a summary already", 64);
    if (options.hdf5.empty() && options.tensorboard.empty())
        throw SetupError("a summary needs hdf5, tensorboard, or both", 64);
    constexpr double a_year = 365 * 86'400.0;
    if (!(options.interval > 0 && options.interval <= a_year))
        throw SetupError("the interval of a summary is above 0 and at most a year", 64);
    records::logs::SliceSummaryOptions writing;
    writing.hdf5 = options.hdf5;
    writing.tensorboard = options.tensorboard;
    writing.name = name;
    writing.attributes = {{"name", name}, {"seed", std::to_string(pass_.seed())}};
    writing.interval = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.interval));
    writing.say = printer_with_name(pass_.options());
    auto summary = records::logs::SliceSummary::open(
        std::move(writing), [this, report = std::move(report)] { return sample(report()); });
    if (!summary) throw SetupError(summary.error().message, to_int(ExitCode::bad_input));  // a file's
    const std::lock_guard lock(mutex_);
    summary_ = std::move(*summary);
    for (const records::hdf5::SliceRow& row : std::exchange(early_rows_, {})) summary_->add(row);
}

void Statistics::write_now() {
    if (summary_) summary_->write_now();
}

void Statistics::finish() {
    if (summary_) summary_->finish();
}

records::logs::SliceSample Statistics::sample(const claims::GiverReport& now) const {
    records::logs::SliceSample sample;
    records::hdf5::SliceQueueRow& row = sample.queue;
    row.timestamp = wall_now();
    row.time_when_started = started_;
    row.positions = now.positions;
    row.slices = pass_.plan().size();
    row.committed = now.committed;
    row.left = now.to_give;
    row.fraction_left = static_cast<double>(now.to_give) / static_cast<double>(now.positions);
    row.epoch = now.first_open / pass_.plan().size();
    row.given_again = now.given_again;
    row.waiting = static_cast<std::uint32_t>(now.waiting);
    row.lost_ranks = static_cast<std::uint32_t>(now.lost_ranks);
    for (const claims::RankReport& rank : now.ranks) {
        sample.ranks.push_back({row.timestamp, rank.taken, rank.rank, rank.is_here ? 1U : 0U});
        row.ranks += rank.is_here;
    }
    row.stragglers = records::logs::count_stragglers(sample.ranks);
    return sample;
}

records::hdf5::SliceRow Statistics::row_of(std::uint32_t rank, const claims::Timed& each) {
    records::hdf5::SliceRow row;
    row.taken = each.taken_us;
    row.committed = each.committed_us;
    row.position = each.position;
    row.epoch = pass_.epoch_of(each.position);
    row.slice = order_.slice_at(each.position);
    const plan::Slice slice = pass_.plan().at(row.slice);
    if (slice.records) row.first = slice.records->first, row.end = slice.records->end;
    row.rank = rank;
    row.failed = each.failed ? 1U : 0U;
    row.work = records::hdf5::FixedText<64>(slice.source);
    return row;
}

}  // namespace wq::slices::queue
