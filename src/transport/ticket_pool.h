// The tickets of a node: one word that all its ranks claim from, and beside it what the tickets mean. Lives
// in a Segment; no call waits, takes a lock, or depends on another rank being alive.
//
// A fill is a range of a batch, with a text per ticket or (ranges travel as a template) without. Every rank
// writes only to areas of its own, so writers never meet; the word's tag says which rank's area, and which
// version of it, holds the current fill. Readers copy and then check that nothing was overwritten meanwhile
// (the way of a seqlock, but a writer that dies in the middle leaves no reader waiting).
//
// A ticket can be claimed and its meaning be gone, when the claimer was stopped while its writer made
// kDescriptors newer fills. Such tickets are counted here and come back as the next attempt when their batch
// is reconciled.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "transport/ticket_word.h"

namespace wq::transport {

struct TicketRange {
    BatchId batch;
    std::uint64_t first = 0;  // index of the first ticket in its batch
    std::uint32_t count = 0;
    bool operator==(const TicketRange&) const = default;
};

struct PoolShape {
    std::uint32_t ranks = 1;              // of the node, at most kMostClaimers
    std::size_t text_bytes = 256 * 1024;  // of one rank's area, a ring: best a few times what one fill needs
};

struct Claim {
    enum class State { claimed, dry, overwritten };
    State state = State::dry;
    TicketRange range;            // when claimed
    std::uint32_t remaining = 0;  // tickets left in the node after this claim: for the next claim's size
    std::uint32_t tag = 0;        // these are for texts(): which fill,
    std::uint64_t version = 0;    // which of all that ever had this tag,
    std::uint32_t offset = 0;     // and where in it
};

enum class Install { installed, lost, too_large };

class TicketPool {
  public:
    static std::size_t bytes_needed(const PoolShape& shape);

    // Once for a segment, by one rank and before any other attaches.
    static void format(std::byte* segment, const PoolShape& shape);

    // `self` is the node rank. One TicketPool a rank and one thread at a time.
    TicketPool(std::byte* segment, const PoolShape& shape, std::uint32_t self);

    // Up to `most` of what is left; see guided_size().
    Claim take(std::uint32_t most) {
        const WordClaim got = claimer_.claim(most);
        if (got.count == 0) return {};
        // Tags come back after 2^13 fills of a writer: a claimer that was busy for so long must not take the
        // new for the old.
        const bool known = known_state_ && known_tag_ == got.tag &&
                           known_state_->load(std::memory_order_relaxed) == known_.version;
        return known ? claim_of(got) : take_from_new_fill(got);
    }

    // The texts of a claim's tickets; none when its fill has no texts. nullopt: overwritten meanwhile, so ask
    // for them; the claim itself stands.
    std::optional<std::vector<std::string>> texts(const Claim& claim) const;

    // Fills the word when it is dry. Lost: another rank was faster, the range stays the caller's. Too large:
    // more than kMostTickets, or texts beyond the area; the caller splits it or keeps it to itself.
    Install install(const TicketRange& range, std::span<const std::string> texts = {});

    // Takes back what nobody has claimed of a batch: nullopt when the word holds nothing of it.
    std::optional<TicketRange> revoke(BatchId batch);

    std::uint32_t remaining() const;
    std::uint32_t ranks() const { return shape_.ranks; }

    // Whether this rank is the one that should fetch the next range. Advice only: the turn passes on by
    // itself after `patience`, and who fetches without it does no harm.
    bool refill_turn(Instant now, Duration patience);
    void end_refill_turn();

    std::uint64_t overwritten() const {
        return overwritten_;
    }  // tickets claimed by us whose meaning was gone

  private:
    using Atomic = std::atomic<std::uint64_t>;
    struct Head;
    struct Descriptor;
    struct Area;
    struct Meaning {
        std::uint64_t version = 0;  // of the descriptor: tells fills apart whose tags are equal
        std::uint64_t batch = 0;
        std::uint64_t first = 0;
        std::uint64_t text_start = 0;  // position in the writer's text ring, ever growing
        std::uint64_t text_bytes = 0;
        std::uint64_t tickets = 0;
    };

    Head& head() const;
    Area& area(std::uint32_t rank) const;
    Atomic* text_words(std::uint32_t rank) const;
    Descriptor& descriptor(std::uint32_t tag) const;
    Claim take_from_new_fill(const WordClaim& got);
    Claim claim_of(const WordClaim& got) const {
        return {Claim::State::claimed,
                {BatchId(static_cast<std::uint32_t>(known_.batch)), known_.first + got.first, got.count},
                got.remaining,
                got.tag,
                known_.version,
                got.first};
    }
    std::optional<Meaning> meaning(std::uint32_t tag) const;
    bool write_texts(std::span<const std::string> texts, Meaning& meaning);
    std::uint32_t publish(const Meaning& meaning);
    void copy_out(std::uint32_t rank, std::uint64_t position, std::size_t bytes, char* out) const;

    std::byte* segment_;
    PoolShape shape_;
    std::uint32_t self_;
    WordClaimer claimer_;
    // The fill that was claimed from last.
    std::uint32_t known_tag_ = 0;
    const Atomic* known_state_ = nullptr;
    Meaning known_;
    std::uint64_t version_ = 0;  // of our next fill
    std::uint64_t overwritten_ = 0;
};

}  // namespace wq::transport
