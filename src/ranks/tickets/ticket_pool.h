// A range of tickets in one 64-bit word, claimed by one fetch_add: a claimer that adds n owns the n tickets
// from the old `next` on, as far as they are below `end`. There is no lock, so a claimer killed anywhere
// blocks nobody.
//
//   bits 63..42  next   on top: an overflow leaves the word and changes no other field
//   bits 41..22  end
//   bits 21..0   tag    which fill of the word this is (class TicketPool)
//
// `next` may exceed `end` by at most one claim per claimer: a claimer that has seen the word empty reads
// before it adds. With 512 claimers and claims of 4096 it stays below 2^20 + 2^21, so it never wraps to a
// valid value.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace wq::ranks::tickets {

inline constexpr std::uint32_t kMostTickets = (1u << 20) - 1;  // per fill
inline constexpr std::uint32_t kMostClaim = 4096;              // per claim
inline constexpr std::uint32_t kMostClaimers = 512;            // per word
inline constexpr std::uint32_t kTagBits = 22;

struct TicketWord {
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    std::uint32_t tag = 0;

    std::uint32_t remaining() const { return end > next ? end - next : 0; }
    bool operator==(const TicketWord&) const = default;
};

constexpr std::uint64_t pack(TicketWord word) {
    return std::uint64_t{word.next} << 42 | std::uint64_t{word.end} << 22 | word.tag;
}

constexpr TicketWord unpack(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits >> 42), static_cast<std::uint32_t>(bits >> 22) & kMostTickets,
            static_cast<std::uint32_t>(bits) & ((1u << kTagBits) - 1)};
}

// Tickets [first, first + count) of the fill `tag`; count 0: none left.
struct WordClaim {
    std::uint32_t tag = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t remaining = 0;  // in the word after this claim, as far as known
};

// One claimer's view of the word. A word may have at most kMostClaimers.
class WordClaimer {
  public:
    explicit WordClaimer(std::atomic<std::uint64_t>& word) : word_(&word) {}

    WordClaim claim(std::uint32_t most) {
        if (saw_dry_ && unpack(word_->load(std::memory_order_relaxed)).remaining() == 0) return {};
        most = std::clamp(most, 1u, kMostClaim);
        const TicketWord old = unpack(word_->fetch_add(std::uint64_t{most} << 42, std::memory_order_acquire));
        const std::uint32_t count = std::min(most, old.remaining());
        saw_dry_ = old.remaining() <= most;
        return {old.tag, old.next, count, old.remaining() - count};
    }

  private:
    std::atomic<std::uint64_t>* word_;
    bool saw_dry_ = true;
};

// How many of `remaining` to take if `takers` share them: many at first, one at the tail, so that all finish
// together although tickets differ. `share`: each takes 1/share of an even split.
constexpr std::uint64_t guided_size(std::uint64_t remaining, std::uint64_t takers, std::uint64_t least = 1,
                                    std::uint64_t most = kMostClaim, std::uint64_t share = 2) {
    const std::uint64_t even = remaining / std::max<std::uint64_t>(1, takers * share);
    return std::min(remaining, std::clamp(even, least, std::max(least, most)));
}

// The tickets of a node: one word from which all its ranks claim, and the meaning of the tickets beside it.
// Lives in a Segment; no call waits, takes a lock, or depends on another rank being alive.
//
// A fill is a range of a batch, with a text per ticket or (ranges travel as a template) without. Every rank
// writes only to its own areas, so writers never collide; the word's tag says which rank's area, and which
// version of it, holds the current fill. Readers copy and then check that nothing was overwritten meanwhile
// (like a seqlock, except that a writer that dies midway blocks no reader).
//
// A ticket's meaning can be lost if its claimer was paused while the writer made kDescriptors newer fills.
// Such tickets are counted here and return as the next attempt when their batch is reconciled.
struct TicketRange {
    BatchId batch;
    std::uint64_t first = 0;  // position of its first ticket in the batch
    std::uint32_t count = 0;
    bool operator==(const TicketRange&) const = default;
};

struct PoolShape {
    std::uint32_t ranks = 1;              // on the node, at most kMostClaimers
    std::size_t text_bytes = 256 * 1024;  // of one rank's ring; best a few times the size of a fill
};

struct Claim {
    enum class State { claimed, dry, overwritten };
    State state = State::dry;
    TicketRange range;            // the claimed tickets
    std::uint32_t remaining = 0;  // tickets left on the node after this claim: determines the next claim's
                                  // size
    std::uint32_t tag = 0;        // for texts(): the fill,
    std::uint64_t version = 0;    // its version among those with this tag,
    std::uint32_t offset = 0;     // and the offset in it
};

enum class Install { installed, lost, too_large };

class TicketPool {
  public:
    static std::size_t bytes_needed(const PoolShape& shape);

    // Once per segment, by one rank, before any other attaches.
    static void format(std::byte* segment, const PoolShape& shape);

    // `self` is the node rank. One TicketPool per rank, one thread at a time.
    TicketPool(std::byte* segment, const PoolShape& shape, std::uint32_t self);

    // Claims up to `most` of what is left; see guided_size().
    Claim take(std::uint32_t most) {
        const WordClaim got = claimer_.claim(most);
        if (got.count == 0) return {};
        // Tags repeat after 2^13 fills of a writer: a claimer that was paused that long must not mistake the
        // new for the old.
        const bool known = known_state_ && known_tag_ == got.tag &&
                           known_state_->load(std::memory_order_relaxed) == known_.version;
        return known ? claim_of(got) : take_from_new_fill(got);
    }

    // The texts of a claim's tickets; none if its fill has no texts. nullopt: overwritten meanwhile, so
    // request them; the claim itself is valid.
    std::optional<std::vector<std::string>> texts(const Claim& claim) const;

    // Fills the empty word. Lost: another rank was faster, the caller keeps the range. Too large: more than
    // kMostTickets, or texts larger than the area; the caller splits the range or keeps it.
    Install install(const TicketRange& range, std::span<const std::string> texts = {});

    // Takes back a batch's unclaimed tickets: nullopt if the word has none of them.
    std::optional<TicketRange> revoke(BatchId batch);

    std::uint32_t remaining() const;

    // What nobody has claimed. It may change at any moment.
    std::optional<TicketRange> unclaimed() const;
    std::uint32_t ranks() const { return shape_.ranks; }

    // Whether this rank should fetch the next range. A hint only: the turn passes on after `timeout`, and
    // fetching out of turn is harmless.
    bool refill_turn(Instant now, Duration timeout);
    void end_refill_turn();

    std::uint64_t overwritten() const { return overwritten_; }  // tickets claimed here whose meaning was lost

  private:
    using Atomic = std::atomic<std::uint64_t>;
    struct Head;
    struct Descriptor;
    struct Area;
    struct Meaning {
        std::uint64_t version = 0;  // of the descriptor: distinguishes fills with equal tags
        std::uint64_t batch = 0;
        std::uint64_t first = 0;
        std::uint64_t text_start = 0;  // position in the writer's text ring, always growing
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
    // The fill of the last claim.
    std::uint32_t known_tag_ = 0;
    const Atomic* known_state_ = nullptr;
    Meaning known_;
    std::uint64_t version_ = 0;  // of this rank's next fill
    std::uint64_t overwritten_ = 0;
};

}  // namespace wq::ranks::tickets
