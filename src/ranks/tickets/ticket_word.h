// A range of tickets in one 64-bit word, claimed by one fetch_add: a claimer that adds n owns the n tickets
// from the old `next` on, as far as they are below `end`. There is no lock, so a claimer killed anywhere
// blocks nobody.
//
//   bits 63..42  next   on top: an overflow leaves the word and changes no other field
//   bits 41..22  end
//   bits 21..0   tag    which fill of the word this is (ticket_pool.h)
//
// `next` may exceed `end` by at most one claim per claimer: a claimer that has seen the word empty reads
// before it adds. With 512 claimers and claims of 4096 it stays below 2^20 + 2^21, so it never wraps to a
// valid value.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

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

}  // namespace wq::ranks::tickets
