#include "slices/queue/ranks.h"

#include <optional>

#include "api/setup_error.h"
#include "base/fields.h"
#include "base/random_bits.h"
#include "net/frames/contact.h"
#include "records/journal/held_file.h"
#include "slices/plan/pass_ledger.h"
#include "slices/queue/giving.h"
#include "slices/queue/h5_checkpoint.h"
#include "slices/queue/line_printer.h"

namespace wq::slices::queue {

template <class V>
void fields(Opening& opening, V& visit) {
    visit(opening.digest, opening.seed, opening.contact, opening.problem, opening.code);
}

void Opening::fail(const std::string& why, int exit_code) {
    problem = why;
    code = static_cast<std::uint64_t>(exit_code);
}

std::string Opening::bytes() const {
    return bytes_of(*this);
}

Opening agreed(const Gather& gather, const Opening& mine) {
    const std::vector<std::string> all = gather(mine.bytes());
    Opening first;
    fields_are(all.front(), first);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        Opening opening;
        fields_are(all[rank], opening);
        if (!opening.problem.empty())
            throw SetupError("rank " + std::to_string(rank) + ": " + opening.problem,
                             static_cast<int>(opening.code));
        if (opening.digest != first.digest)
            throw SetupError("rank " + std::to_string(rank) + " has other works or options than rank 0", 64);
    }
    return first;
}

namespace {

// A rank above 0.
class Rank final : public Member {
  public:
    struct WayToRankZero {
        std::uint32_t rank;
        std::string contact;                 // of rank 0
        ranks::tickets::Counters* counters;  // null: its node asks by message
    };
    Rank(SliceWorks works, std::unique_ptr<Pass> pass, manager::run::NodeTickets tickets,
         const WayToRankZero& way)
        : works_(std::move(works)), pass_(std::move(pass)), tickets_(std::move(tickets)) {
        auto dial = net::frames::dial_options(api::checked(net::frames::parse_contact(way.contact)));
        dial.limits = claims::taker_limits();
        claims::TakerOptions taking = taker_options(*pass_, tickets_.name, way.rank);
        taking.counters = way.counters;
        line_ = api::checked(claims::TakerLine::open(std::move(dial), *tickets_.pool, std::move(taking)));
    }
    const Pass& pass() const override { return *pass_; }
    RecordSource& records() override { return works_; }
    claims::Taker& taker() override { return line_->taker(); }
    bool leave() override {
        const bool lost = Member::leave();
        line_.reset();
        return lost;
    }

  private:
    SliceWorks works_;
    std::unique_ptr<Pass> pass_;
    manager::run::NodeTickets tickets_;
    std::unique_ptr<claims::TakerLine> line_;
};

std::optional<plan::Checkpoint> checkpoint_for(const plan::Plan& plan, const SliceOptions& options) {
    if (options.restore.empty()) return std::nullopt;
    api::checked(records::journal::refuse_if_held(options.restore));
    auto checkpoint = api::checked(read_checkpoint(options.restore));
    api::checked(plan::check_fits(checkpoint, options.restore, plan, options.shuffle, options.seed));
    return checkpoint;
}

// What a process knows before it takes.
struct Start {
    SliceWorks works;
    std::unique_ptr<Pass> pass{};
    IntervalSet committed{};

    void cut(const SliceOptions& options, bool gives) {
        plan::Plan plan = works.cut(options);
        std::optional<plan::Checkpoint> checkpoint;
        if (gives) checkpoint = checkpoint_for(plan, options);
        std::uint64_t seed = options.seed ? *options.seed : random_bits();
        if (checkpoint) seed = checkpoint->seed, committed = std::move(checkpoint->committed);
        SliceOptions known = options;
        known.must_exist = works.are_files();
        pass = std::make_unique<Pass>(std::move(known), std::move(plan), seed);
    }
    // Drawn by rank 0.
    void reseed(std::uint64_t seed) {
        if (pass->seed() != seed)
            pass = std::make_unique<Pass>(pass->options(), plan::Plan(pass->plan()), seed);
    }
};

// Collective. Lines' threads call them only after use(), which comes after the last collective here.
ranks::tickets::Counters* counters_of(MpiSession::Parts& parts, const SliceOptions& options) {
    const bool may_call = parts.threads_may_call || options.only_mpi_caller;
    const bool are_fast = parts.counters != nullptr;
    if (options.tickets == SliceTickets::message) return nullptr;
    if (options.tickets == SliceTickets::automatic && !(may_call && are_fast)) return nullptr;
    std::string why = "another queue of this session uses it";
    ranks::tickets::Counters* const counters = parts.is_using_counters ? nullptr : parts.open_counters(why);
    if (counters == nullptr && parts.rank == 0)
        printer_with_name(options)("no slices through an MPI window: " + why);
    return counters;
}

void start_taking(Member& member) {
    if (!member.taker().join())
        throw SetupError("cannot reach rank 0: " + member.taker().failure().value_or(""), 69);
    const SliceSummaryOptions& summary = member.pass().options().summary;
    const bool wanted = !summary.hdf5.empty() || !summary.tensorboard.empty();
    if (member.giving() == nullptr) return;
    if (wanted) member.giving()->add_summary(summary);
    member.giving()->publish();
}

// A rank that cannot go on tells the others before it throws, or they would wait for it.
AmongRanks open_together(MpiSession::Parts& parts, const std::vector<std::string>& works,
                         const SliceOptions& options) {
    const Gather gather = [&](const std::string& mine) { return parts.gather(mine); };
    const bool gives = parts.rank == 0;
    const auto ranks = static_cast<std::uint32_t>(parts.size);
    Start start{SliceWorks::find(
        works, options,
        {static_cast<std::size_t>(parts.rank), static_cast<std::size_t>(parts.size), gather})};
    std::optional<GivingPort> port;
    Opening mine;
    mine.attempt([&] {
        if (parts.has_manager)
            throw SetupError("this MpiSession has, or had, a Manager: its ranks cannot take slices", 64);
        start.cut(options, gives);
        mine.digest = start.pass->digest();
        mine.seed = start.pass->seed();
        if (gives) port.emplace(options, GivingPort::Ranks{ranks, parts.node_size == parts.size});
        if (gives) mine.contact = port->contact();
    });
    const Opening first = agreed(gather, mine);
    start.reseed(first.seed);
    manager::run::NodeTickets tickets = parts.open_node_tickets();
    if (gives && !tickets.not_shared.empty())
        printer_with_name(options)("ranks get slices by message: " + tickets.not_shared);
    ranks::tickets::Counters* const counters = counters_of(parts, options);
    AmongRanks opened;
    std::unique_ptr<Member>& member = opened.member;
    Opening joined;
    joined.attempt([&] {
        if (gives)
            member = std::make_unique<Giving>(GivingOptions{std::move(start.works), std::move(start.pass),
                                                            std::move(start.committed), std::move(tickets),
                                                            std::move(*port), ranks});
        else
            member = std::make_unique<Rank>(
                std::move(start.works), std::move(start.pass), std::move(tickets),
                Rank::WayToRankZero{static_cast<std::uint32_t>(parts.rank), first.contact,
                                    parts.beside_rank_0 ? nullptr : counters});
        start_taking(*member);
    });
    try {
        agreed(gather, joined);  // rank 0 must not end before all others know it
    } catch (...) {
        if (member && gives) member->giving()->abandon();  // workers may be there
        throw;
    }
    if (counters != nullptr && gives) member->giving()->use(*counters);
    opened.uses_counters = counters != nullptr;
    if (opened.uses_counters) parts.is_using_counters = true;
    return opened;
}

}  // namespace

std::unique_ptr<Member> open_alone(const std::vector<std::string>& works, const SliceOptions& options) {
    Start start{SliceWorks::find(works, options, {})};
    constexpr bool gives = true;
    start.cut(options, gives);
    auto member = std::make_unique<Giving>(
        GivingOptions{std::move(start.works), std::move(start.pass), std::move(start.committed),
                      own_tickets("this process"), GivingPort(options, {})});
    start_taking(*member);
    return member;
}

AmongRanks open_among_ranks(MpiSession::Parts& parts, const std::vector<std::string>& works,
                            const SliceOptions& options) {
    struct SignalsGivenBack {  // also if it is refused
        MpiSession::Parts& parts;
        ~SignalsGivenBack() { parts.give_back_signals(); }
    } const at_the_end{parts};
    // Before the first collective, which calls MPI, too. It is so on all ranks.
    if (parts.is_using_counters && !parts.threads_may_call)
        throw SetupError("another SliceQueue of this MpiSession calls MPI: end it before the next one", 64);
    const auto watch = parts.before_collectives();
    try {
        AmongRanks opened = open_together(parts, works, options);
        parts.after_collectives();
        return opened;
    } catch (const SetupError&) {  // on all ranks
        parts.after_collectives();
        throw;
    }
}

}  // namespace wq::slices::queue
