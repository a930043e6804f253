#include "work_queue/slice_queue.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "api/session_parts.h"
#include "base/bytes.h"
#include "base/random_bits.h"
#include "base/units.h"
#include "feed/lines.h"
#include "net/contact.h"
#include "slices/order.h"
#include "slices/plan.h"

namespace wq {

namespace {

constexpr std::uint64_t few_slices = 10;  // of each rank: below, the last ones decide how long all take

SetupError setup_error(const Error& error) {
    return SetupError(error.message, to_int(error.code));
}

template <class T>
T checked(Result<T> result) {
    if (!result) throw setup_error(result.error());
    return std::move(*result);
}

std::string stripped(const std::string& work) {
    constexpr const char* blanks = " \t\r\n";
    const std::size_t first = work.find_first_not_of(blanks);
    if (first == std::string::npos) return {};
    return work.substr(first, work.find_last_not_of(blanks) + 1 - first);
}

slices::Plan plan_of(const std::vector<std::string>& works, const SliceOptions& options) {
    std::vector<slices::Source> sources;
    for (const std::string& work : works) {
        slices::Source source{stripped(work), std::nullopt};
        if (options.num_slices && options.records)
            source.records = options.records(options.prefix + source.name);
        sources.push_back(std::move(source));
    }
    const slices::Cut cut = !options.num_slices           ? slices::Cut::whole
                            : options.num_slices_per_work ? slices::Cut::per_source
                                                          : slices::Cut::total;
    return checked(slices::Plan::make(std::move(sources), cut, options.num_slices.value_or(0)));
}

slices::Order order_of(const slices::Plan& plan, const SliceOptions& options, std::uint64_t seed) {
    if (options.num_epochs < 1)
        throw SetupError("num_epochs is " + std::to_string(options.num_epochs) + "; it is at least 1", 64);
    return checked(slices::Order::make(
        {plan.size(), static_cast<std::uint64_t>(options.num_epochs), options.shuffle, seed}));
}

// What each rank says at the start: of rank 0 where it is, of all what they are about to share.
struct Opening {
    std::uint64_t digest = 0;
    std::uint64_t seed = 0;
    std::string contact;  // of rank 0
    std::string problem;  // why it cannot begin; empty: it can

    std::string bytes() const {
        ByteWriter out;
        out.u64(digest);
        out.u64(seed);
        out.blob(contact);
        out.blob(problem);
        return out.take();
    }
    static Opening of(const std::string& bytes) {
        ByteReader in(bytes);
        Opening opening;
        opening.digest = in.u64();
        opening.seed = in.u64();
        opening.contact = in.blob();
        opening.problem = in.blob();
        return opening;
    }
};

}  // namespace

std::string Slice::text() const {
    slices::Slice slice{work, std::nullopt};
    if (start && end) slice.records = Interval{*start, *end};
    return slice.text();
}

class SliceQueue::Impl {
  public:
    Impl(std::vector<std::string> works, SliceOptions options)
        : options_(said(std::move(options))),
          plan_(plan_of(works, options_)),
          order_(order_of(plan_, options_, options_.seed ? *options_.seed : random_bits())),
          seed_(order_.seed()) {
        const tickets::PoolShape shape{1, 0};
        tickets_.segment = mpi::make_private_segment(tickets::TicketPool::bytes_needed(shape));
        tickets::TicketPool::format(tickets_.segment->data(), shape);
        tickets_.pool = std::make_unique<tickets::TicketPool>(tickets_.segment->data(), shape, 0);
        giver_.emplace(nullptr, ledger(), *tickets_.pool, taker_options());
    }

    Impl(MpiSession& session, std::vector<std::string> works, SliceOptions options)
        : options_(said(std::move(options))),
          plan_(plan_of(works, options_)),
          order_(order_of(plan_, options_, 0)),
          seed_(0) {
        begin(session.parts());
        parts_ = &session.parts();
    }

    // MPI cannot be finalized then.
    ~Impl() {
        if (parts_ != nullptr && taker().lost_some()) parts_->lost_a_rank = true;
    }

    std::optional<Slice> take() {
        const auto position = taker().take();
        if (!position) {
            if (const auto why = taker().failure())
                throw std::runtime_error(options_.name + ": the connection to rank 0 is lost: " + *why);
            return std::nullopt;
        }
        std::lock_guard lock(mutex_);
        const slices::Slice found = plan_.at(order_.slice_at(*position));
        Slice slice;
        slice.work = options_.prefix + found.source;
        if (found.records) slice.start = found.records->first, slice.end = found.records->end;
        slice.epoch = order_.epoch_of(*position);
        slice.position = *position;
        return slice;
    }
    bool commit(const Slice& slice) { return taker().commit(slice.position); }
    std::uint64_t size() const { return plan_.size(); }
    std::uint64_t seed() const { return seed_; }
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
        return {order_.positions(), deliveries[static_cast<std::size_t>(options_.delivery)]};
    }
    feed::TakerOptions taker_options() const {
        feed::TakerOptions options;
        options.node = tickets_.name;
        options.commits = options_.delivery != Delivery::at_most_once;
        options.by_hand = options_.commit_by_hand;
        return options;
    }

    void begin(MpiSession::Parts& parts) {
        if (parts.has_manager)
            throw SetupError("this MpiSession has a Manager: its ranks run tasks, and cannot take slices",
                             64);
        std::unique_ptr<net::TcpListener> others;
        Opening mine;
        mine.digest = plan_.digest();
        mine.seed = options_.seed ? *options_.seed : random_bits();
        if (parts.rank == 0) open_port(parts, mine, others);
        const std::vector<std::string> openings = parts.gather(mine.bytes());
        const Opening first = agreed(openings);
        seed_ = first.seed;
        order_ = order_of(plan_, options_, seed_);
        tickets_ = parts.open_node_tickets();
        if (parts.rank == 0) {
            giver_.emplace(std::move(others), ledger(), *tickets_.pool, taker_options());
            giver_->say = [say = options_.say, name = options_.name](const std::string& line) {
                say(name + ": " + line);
            };
            if (plan_.size() < few_slices * static_cast<std::uint64_t>(parts.size))
                options_.say(
                    options_.name + ": " + count_of(plan_.size(), "slice") + " for " +
                    count_of(static_cast<std::uint64_t>(parts.size), "rank") +
                    ": with fewer than 10 slices for each rank, fast ranks wait for slow ones at the end");
        } else {
            const auto contact = checked(net::parse_contact(first.contact));
            line_ =
                checked(feed::TakerLine::open(net::dial_options(contact), *tickets_.pool, taker_options()));
        }
        // Rank 0 must not end before all others know it.
        const bool known = taker().join();
        Opening joined;
        if (!known) joined.problem = "cannot reach rank 0: " + taker().failure().value_or("");
        agreed(parts.gather(joined.bytes()));
    }

    // The same on all ranks: the first problem, or rank 0's words. Throws SetupError.
    static Opening agreed(const std::vector<std::string>& openings) {
        const Opening first = Opening::of(openings.front());
        for (std::size_t rank = 0; rank < openings.size(); ++rank) {
            const Opening opening = Opening::of(openings[rank]);
            if (!opening.problem.empty())
                throw SetupError("rank " + std::to_string(rank) + ": " + opening.problem, 69);
            if (opening.digest != first.digest)
                throw SetupError(
                    "rank " + std::to_string(rank) + " has other works or another num_slices than rank 0",
                    64);
        }
        return first;
    }

    // Reached from this machine only, if all ranks are here.
    static void open_port(const MpiSession::Parts& parts, Opening& mine,
                          std::unique_ptr<net::TcpListener>& others) {
        if (parts.size == 1) return;
        net::TcpListenOptions options;
        options.key = net::fresh_key();
        if (parts.node_size == parts.size) options.bind = {"127.0.0.1"};
        net::Contact contact;
        contact.key = options.key;
        auto opened = net::TcpListener::open(std::move(options));
        if (!opened) {
            mine.problem = opened.error().message;
            return;
        }
        others = std::move(*opened);
        contact.port = others->port();
        contact.addresses =
            parts.node_size == parts.size ? std::vector<std::string>{"127.0.0.1"} : net::own_addresses();
        mine.contact = net::to_json(contact);
    }

    SliceOptions options_;
    slices::Plan plan_;
    std::mutex mutex_;  // of order_
    slices::Order order_;
    std::uint64_t seed_;
    MpiSession::Parts* parts_ = nullptr;
    run::NodeTickets tickets_;
    std::optional<feed::GiverLine> giver_;
    std::unique_ptr<feed::TakerLine> line_;
};

SliceQueue::SliceQueue(std::vector<std::string> works, SliceOptions options)
    : impl_(std::make_unique<Impl>(std::move(works), std::move(options))) {}
SliceQueue::SliceQueue(MpiSession& session, std::vector<std::string> works, SliceOptions options)
    : impl_(std::make_unique<Impl>(session, std::move(works), std::move(options))) {}
SliceQueue::~SliceQueue() = default;

std::optional<Slice> SliceQueue::take() {
    return impl_->take();
}
bool SliceQueue::commit(const Slice& slice) {
    return impl_->commit(slice);
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
