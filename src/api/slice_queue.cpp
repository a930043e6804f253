#include "work_queue/slice_queue.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "api/session_parts.h"
#include "api/setup_error.h"
#include "api/slice_feed.h"
#include "api/slice_works.h"
#include "base/bytes.h"
#include "base/random_bits.h"
#include "base/units.h"
#include "feed/lines.h"
#include "logs/slice_summary.h"
#include "net/contact.h"
#include "slices/checkpoint.h"
#include "slices/order.h"
#include "slices/plan.h"
#include "stats/h5_checkpoint.h"

namespace wq {

namespace {

constexpr std::uint64_t few_slices = 10;  // of each rank: below, the last ones decide how long all take

slices::Order order_of(const slices::Plan& plan, const SliceOptions& options, std::uint64_t seed) {
    if (options.num_epochs < 1)
        throw SetupError("num_epochs is " + std::to_string(options.num_epochs) + "; it is at least 1", 64);
    return api::checked(slices::Order::make(
        {plan.size(), static_cast<std::uint64_t>(options.num_epochs), options.shuffle, seed}));
}

// Of what must be equal on all ranks.
std::uint64_t digest_of(const slices::Plan& plan, const SliceOptions& options) {
    std::uint64_t bits = plan.digest();
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(options.num_epochs), static_cast<std::uint64_t>(options.shuffle),
          static_cast<std::uint64_t>(options.delivery), static_cast<std::uint64_t>(options.tickets),
          options.seed ? *options.seed + 1 : 0})
        bits = slices::mixed(bits, part);
    return bits;
}

// What each rank says at the start: of rank 0 where it is, of all what they are about to share.
struct Opening {
    std::uint64_t digest = 0;
    std::uint64_t seed = 0;
    std::string contact;  // of rank 0
    std::string problem;  // why it cannot begin; empty: it can
    std::uint64_t code = 0;

    // Whatever it throws, such as the program's own function, all ranks are told: others would wait for this
    // one.
    template <class Step>
    void attempt(Step&& step) {
        try {
            step();
        } catch (const SetupError& error) {
            fail(error.what(), error.exit_code());
        } catch (const Failure& failure) {
            fail(failure.error.message, to_int(failure.error.code));
        } catch (const std::exception& error) {
            fail(error.what(), 69);
        } catch (...) {
            fail("an unknown exception", 69);
        }
    }
    void fail(const std::string& why, int exit_code) {
        problem = why;
        code = static_cast<std::uint64_t>(exit_code);
    }

    std::string bytes() const {
        ByteWriter out;
        out.u64(digest);
        out.u64(seed);
        out.blob(contact);
        out.blob(problem);
        out.u64(code);
        return out.take();
    }
    static Opening of(const std::string& bytes) {
        ByteReader in(bytes);
        Opening opening;
        opening.digest = in.u64();
        opening.seed = in.u64();
        opening.contact = in.blob();
        opening.problem = in.blob();
        opening.code = in.u64();
        return opening;
    }
};

}  // namespace

std::string Slice::text() const {
    slices::Slice slice{work, std::nullopt};
    if (start && end) slice.records = Interval{*start, *end};
    return slice.text();
}

class SliceQueue::Impl final : public SliceFeed {
  public:
    Impl(std::vector<std::string> works, SliceOptions options) : options_(said(std::move(options))) {
        works_.emplace(api::SliceWorks::find(works, options_, {}));
        plan(first_seed());
        restore();
        const tickets::PoolShape shape{1, 0};
        tickets_.segment = mpi::make_private_segment(tickets::TicketPool::bytes_needed(shape));
        tickets::TicketPool::format(tickets_.segment->data(), shape);
        tickets_.pool = std::make_unique<tickets::TicketPool>(tickets_.segment->data(), shape, 0);
        giver_.emplace(nullptr, ledger(), plan_->size(), *tickets_.pool, taker_options(), record());
        remark_on_works();
    }

    Impl(MpiSession& session, std::vector<std::string> works, SliceOptions options)
        : options_(said(std::move(options))) {
        if (session.parts().has_manager)
            throw SetupError("this MpiSession has a Manager: its ranks run tasks, and cannot take slices",
                             64);
        if (session.parts().is_calling_mpi)
            throw SetupError("another SliceQueue of this MpiSession calls MPI: end it before the next one",
                             64);
        parts_ = &session.parts();
        begin(session.parts(), works);
    }

    bool of_this_process() const { return ::getpid() == pid_; }

    // MPI cannot be finalized then.
    ~Impl() override {
        bool lost = taker().lost_some() || taker().failure();  // before its own line ends
        if (giver_) giver_->close();
        if (giver_) lost = lost || giver_->report().lost_takers > 0;
        line_.reset();
        if (counters_ != nullptr) parts_->is_calling_mpi = false;
        if (summary_) summary_->finish();  // its last sample has what all others did until they left
        if (parts_ != nullptr && lost) parts_->lost_a_rank = true;
    }

    std::optional<Slice> take() {
        std::optional<std::uint64_t> done;
        if (!options_.commit_by_hand) done = given_.exchange(none);
        if (done == none) done.reset();
        const auto slice = taken_after(done, {});
        if (slice && !options_.commit_by_hand) {
            const std::uint64_t of_other_thread = given_.exchange(slice->position);
            if (of_other_thread != none) taker().commit(of_other_thread);
        }
        return slice;
    }
    std::optional<Slice> take_after(const std::optional<Slice>& done, const std::stop_token& stop) override {
        return taken_after(done ? std::optional(done->position) : std::nullopt, stop);
    }
    std::optional<Slice> taken_after(std::optional<std::uint64_t> done, const std::stop_token& stop) {
        const auto position = taker().take_after(done, stop);
        if (!position) {
            if (const auto why = taker().failure())
                throw std::runtime_error(options_.name + ": the connection to rank 0 is lost: " + *why);
            return std::nullopt;
        }
        std::lock_guard lock(mutex_);
        const slices::Slice found = plan_->at(order_->slice_at(*position));
        Slice slice;
        slice.work = options_.prefix + found.source;
        if (found.records) slice.start = found.records->first, slice.end = found.records->end;
        slice.epoch = order_->epoch_of(*position);
        slice.position = *position;
        return slice;
    }
    bool commit_failed(const Slice& slice) {
        const bool counts = taker().commit(slice.position, true);
        failed_ += counts;
        return counts;
    }
    std::uint64_t failed() {
        if (!giver_) return failed_;
        return giver_->report().failed;
    }
    void save(const std::string& path) {
        if (!giver_) throw std::logic_error(options_.name + ": save() is for rank 0");
        IntervalSet committed = giver_->committed_by_all();
        giver_->failed().for_each([&](const Interval& range) { committed.erase(range); });
        if (const auto why = taker().failure()) throw std::runtime_error(options_.name + ": " + *why);
        const auto written = stats::write_checkpoint(
            path, {plan_->digest(), plan_->size(), options_.shuffle, order_->seed(), committed});
        if (!written) throw std::runtime_error(options_.name + ": " + written.error().message);
    }
    void add_summary(const SliceSummaryOptions& options) {
        if (!giver_) return;
        if (summary_) throw SetupError(options_.name + ": it has a summary already", 64);
        if (options.hdf5.empty() && options.tensorboard.empty())
            throw SetupError("a summary needs hdf5, tensorboard, or both", 64);
        if (!(options.interval > 0)) throw SetupError("the interval of a summary is above 0", 64);
        logs::SliceSummaryOptions writing;
        writing.hdf5 = options.hdf5;
        writing.tensorboard = options.tensorboard;
        writing.name = options_.name;
        writing.attributes = {{"name", options_.name}, {"seed", std::to_string(seed())}};
        writing.interval =
            std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.interval));
        writing.say = [say = options_.say, name = options_.name](const std::string& line) {
            say(name + ": " + line);
        };
        auto summary = logs::SliceSummary::open(std::move(writing), [this] { return sample(); });
        if (!summary) throw SetupError(summary.error().message, 64);  // no run is interrupted yet
        std::lock_guard lock(mutex_);
        summary_ = std::move(*summary);
        for (const stats::SliceRow& row : std::exchange(early_rows_, {})) summary_->add(row);
    }
    bool commit(const Slice& slice) override { return taker().commit(slice.position); }
    void give_back(const std::vector<Slice>& slices) override {
        std::vector<std::uint64_t> positions;
        for (const Slice& slice : slices) positions.push_back(slice.position);
        taker().give_back(positions);
    }
    bool by_hand() const override { return options_.commit_by_hand; }
    bool at_most_once() const override { return options_.delivery == Delivery::at_most_once; }
    const api::SliceWorks& works() const override { return *works_; }
    std::uint64_t size() const { return plan_->size(); }
    std::uint64_t seed() const { return order_->seed(); }
    std::uint64_t taken() { return taker().taken(); }

  private:
    static SliceOptions said(SliceOptions options) {
        if (!options.say)
            options.say = [](const std::string& line) {
                std::fprintf(stderr, "work_queue: %s\n", line.c_str());
            };
        return options;
    }
    feed::Taker& taker() { return giver_ ? giver_->taker() : line_->taker(); }
    slices::Ledger ledger() const {
        constexpr slices::Delivery deliveries[] = {
            slices::Delivery::exactly_once, slices::Delivery::at_most_once, slices::Delivery::at_least_once};
        return {order_->positions(), deliveries[static_cast<std::size_t>(options_.delivery)], restored_};
    }
    feed::TakerOptions taker_options() const {
        feed::TakerOptions options;
        options.node = tickets_.name;
        options.commits = !at_most_once();
        if (parts_ != nullptr) options.rank = static_cast<std::uint32_t>(parts_->rank);
        if (options_.record_each) options.clock = [] { return wall_now(); };
        if (parts_ != nullptr && !parts_->beside_rank_0) options.counters = counters_;
        options.say = named_say();
        return options;
    }
    std::function<void(const std::string&)> named_say() const {
        return
            [say = options_.say, name = options_.name](const std::string& line) { say(name + ": " + line); };
    }

    // Collective. Its line's thread calls them only when a consumer takes, thus after the last collective.
    void open_counters(MpiSession::Parts& parts) {
        const bool may_call = parts.threads_may_call || options_.only_mpi_caller;
        std::string why;
        if (options_.tickets == SliceTickets::rma) counters_ = parts.open_counters(why);
        if (options_.tickets == SliceTickets::automatic && may_call) counters_ = parts.counters;
        if (!why.empty() && parts.rank == 0)
            options_.say(options_.name + ": no slices through an MPI window: " + why);
    }

    // Other ranks may commit before this one asks for a summary.
    feed::GiverLine::Record record() {
        if (!options_.record_each) return {};
        return [this](std::uint32_t rank, const feed::Timed& each) {
            std::lock_guard lock(mutex_);
            const stats::SliceRow row = row_of(rank, each);
            summary_ ? summary_->add(row) : early_rows_.push_back(row);
        };
    }

    logs::SliceSample sample() const {
        const feed::GiverReport now = giver_->report();
        logs::SliceSample sample;
        stats::SliceQueueRow& row = sample.queue;
        row.timestamp = wall_now();
        row.time_when_started = started_;
        row.positions = now.positions;
        row.slices = plan_->size();
        row.committed = now.committed;
        row.left = now.to_give;
        row.fraction_left = static_cast<double>(now.to_give) / static_cast<double>(now.positions);
        row.epoch = now.first_open / plan_->size();
        row.given_again = now.given_again;
        row.waiting = static_cast<std::uint32_t>(now.waiting);
        row.lost_ranks = static_cast<std::uint32_t>(now.lost_takers);
        for (const feed::RankReport& rank : now.ranks) {
            sample.ranks.push_back({row.timestamp, rank.taken, rank.rank, rank.is_here ? 1U : 0U});
            row.ranks += rank.is_here;
        }
        row.stragglers = logs::count_stragglers(sample.ranks);
        return sample;
    }

    stats::SliceRow row_of(std::uint32_t rank, const feed::Timed& each) {
        stats::SliceRow row;
        row.taken = each.taken_us;
        row.committed = each.committed_us;
        row.position = each.position;
        row.epoch = order_->epoch_of(each.position);
        row.slice = order_->slice_at(each.position);
        const slices::Slice slice = plan_->at(row.slice);
        if (slice.records) row.first = slice.records->first, row.end = slice.records->end;
        row.rank = rank;
        row.failed = each.failed ? 1U : 0U;
        row.work = stats::Text<64>(slice.source);
        return row;
    }

    std::uint64_t first_seed() const { return options_.seed ? *options_.seed : random_bits(); }

    void restore() {
        if (options_.restore.empty()) return;
        const auto checkpoint = api::checked(stats::read_checkpoint(options_.restore));
        api::checked(
            slices::check_fits(checkpoint, options_.restore, *plan_, options_.shuffle, options_.seed));
        order_.emplace(order_of(*plan_, options_, checkpoint.seed));
        restored_ = checkpoint.committed;
    }

    void plan(std::uint64_t seed) {
        plan_.emplace(works_->cut(options_));
        order_.emplace(order_of(*plan_, options_, seed));
    }

    // A rank that cannot go on tells the others before it throws, or they would wait for it.
    void begin(MpiSession::Parts& parts, const std::vector<std::string>& works) {
        const auto gather = [&](const std::string& mine) { return parts.gather(mine); };
        works_.emplace(api::SliceWorks::find(
            works, options_,
            {static_cast<std::size_t>(parts.rank), static_cast<std::size_t>(parts.size), gather}));
        std::unique_ptr<net::TcpListener> others;
        Opening mine;
        mine.attempt([&] {
            if (parts.has_manager)
                throw SetupError("this MpiSession has, or had, a Manager: its ranks cannot take slices", 64);
            plan(first_seed());
            mine.digest = digest_of(*plan_, options_);
            if (parts.rank == 0) restore();
            mine.seed = order_->seed();
            if (parts.rank == 0) others = open_port(parts, mine.contact);
        });
        const Opening first = agreed(parts.gather(mine.bytes()));
        order_.emplace(order_of(*plan_, options_, first.seed));
        tickets_ = parts.open_node_tickets();
        open_counters(parts);
        Opening joined;
        joined.attempt([&] { join(parts, std::move(others), first.contact); });
        agreed(parts.gather(joined.bytes()));  // rank 0 must not end before all others know it
        if (giver_ && counters_ != nullptr) giver_->use(*counters_);
        parts.is_calling_mpi = counters_ != nullptr && !parts.threads_may_call;
    }

    void join(const MpiSession::Parts& parts, std::unique_ptr<net::TcpListener> others,
              const std::string& contact) {
        if (parts.rank == 0) {
            giver_.emplace(std::move(others), ledger(), plan_->size(), *tickets_.pool, taker_options(),
                           record());
            giver_->say = named_say();
            remark_on_works();
            warn_of_few(static_cast<std::uint64_t>(parts.size));
        } else {
            auto dial = net::dial_options(api::checked(net::parse_contact(contact)));
            dial.limits = feed::feed_limits();
            line_ = api::checked(feed::TakerLine::open(std::move(dial), *tickets_.pool, taker_options()));
        }
        if (!taker().join()) throw SetupError("cannot reach rank 0: " + taker().failure().value_or(""), 69);
    }

    void remark_on_works() const {
        if (const std::string remark = works_->remark(); !remark.empty())
            options_.say(options_.name + ": " + remark);
    }
    void warn_of_few(std::uint64_t ranks) const {
        if (ranks == 1 || plan_->size() >= few_slices * ranks) return;
        options_.say(options_.name + ": " + count_of(plan_->size(), "slice") + " for " +
                     count_of(ranks, "rank") +
                     ": with fewer than 10 slices for each rank, fast ranks wait for slow ones at the end");
    }

    // The same on all ranks: the first problem, or rank 0's words. Throws SetupError.
    static Opening agreed(const std::vector<std::string>& openings) {
        const Opening first = Opening::of(openings.front());
        for (std::size_t rank = 0; rank < openings.size(); ++rank) {
            const Opening opening = Opening::of(openings[rank]);
            if (!opening.problem.empty())
                throw SetupError("rank " + std::to_string(rank) + ": " + opening.problem,
                                 static_cast<int>(opening.code));
            if (opening.digest != first.digest)
                throw SetupError("rank " + std::to_string(rank) + " has other works or options than rank 0",
                                 64);
        }
        return first;
    }

    // Reached from this machine only, if all ranks are here.
    static std::unique_ptr<net::TcpListener> open_port(const MpiSession::Parts& parts,
                                                       std::string& contact_text) {
        if (parts.size == 1) return nullptr;
        const bool all_here = parts.node_size == parts.size;
        net::TcpListenOptions options;
        options.key = net::fresh_key();
        if (all_here) options.bind = {"127.0.0.1"};
        options.limits = feed::feed_limits();
        net::Contact contact;
        contact.key = options.key;
        auto listener = api::checked(net::TcpListener::open(std::move(options)));
        contact.port = listener->port();
        contact.addresses = all_here ? std::vector<std::string>{"127.0.0.1"} : net::own_addresses();
        contact_text = net::to_json(contact);
        return listener;
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0};

    const pid_t pid_ = ::getpid();
    SliceOptions options_;
    std::optional<api::SliceWorks> works_;
    std::atomic<std::uint64_t> given_ = none;  // by take(), and not committed
    std::optional<slices::Plan> plan_;
    std::mutex mutex_;  // of order_, summary_, early_rows_
    std::optional<slices::Order> order_;
    const WallMicros started_ = wall_now();
    IntervalSet restored_;  // committed by an earlier program
    MpiSession::Parts* parts_ = nullptr;
    run::NodeTickets tickets_;
    tickets::Counters* counters_ = nullptr;  // null: nodes ask by message
    std::optional<feed::GiverLine> giver_;
    std::unique_ptr<feed::TakerLine> line_;
    std::unique_ptr<logs::SliceSummary> summary_;
    std::vector<stats::SliceRow> early_rows_;
    std::atomic<std::uint64_t> failed_ = 0;
};

SliceQueue::SliceQueue(std::vector<std::string> works, SliceOptions options)
    : impl_(std::make_unique<Impl>(std::move(works), std::move(options))) {}
SliceQueue::SliceQueue(MpiSession& session, std::vector<std::string> works, SliceOptions options)
    : impl_(std::make_unique<Impl>(session, std::move(works), std::move(options))) {}

// A child of fork() has neither our threads nor our connection.
SliceQueue::~SliceQueue() {
    if (impl_->of_this_process()) return;
    static_cast<void>(impl_.release());
}

std::optional<Slice> SliceQueue::take() {
    return impl_->take();
}
SliceFeed& SliceQueue::feed() {
    return *impl_;
}
SliceProducer SliceQueue::input_producer(std::size_t capacity) {
    return {*impl_, capacity};
}
bool SliceQueue::commit(const Slice& slice) {
    return impl_->commit(slice);
}
bool SliceQueue::commit_failed(const Slice& slice) {
    return impl_->commit_failed(slice);
}
std::uint64_t SliceQueue::failed() const {
    return impl_->failed();
}
void SliceQueue::add_summary(const SliceSummaryOptions& options) {
    impl_->add_summary(options);
}
void SliceQueue::save(const std::string& path) {
    impl_->save(path);
}
std::uint64_t SliceQueue::size() const {
    return impl_->size();
}
std::uint64_t SliceQueue::seed() const {
    return impl_->seed();
}
std::uint64_t SliceQueue::taken() const {
    return impl_->taken();
}

}  // namespace wq
