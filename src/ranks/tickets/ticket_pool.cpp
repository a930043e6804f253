#include "ranks/tickets/ticket_pool.h"

#include <cstring>
#include <new>

namespace wq::ranks::tickets {

namespace {

constexpr std::size_t kLine = 128;
constexpr std::uint32_t kDescriptors = 16;  // fills of one rank that are kept
constexpr std::uint32_t kVersionBits = 13;  // of the tag; the other bits name the writer
constexpr std::uint32_t kVersionMask = (1u << kVersionBits) - 1;
static_assert(kMostClaimers <= 1u << (kTagBits - kVersionBits));
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share these words");

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

std::uint32_t writer_of(std::uint32_t tag) {
    return tag >> kVersionBits;
}
std::uint32_t version_of(std::uint32_t tag) {
    return tag & kVersionMask;
}

// Texts as one block: each end as a 32-bit offset into the bytes that follow.
std::string text_block(std::span<const std::string> texts) {
    std::string block(texts.size() * sizeof(std::uint32_t), '\0');
    std::size_t place = 0;
    std::uint32_t end = 0;
    for (const std::string& text : texts) {
        end += static_cast<std::uint32_t>(text.size());
        std::memcpy(block.data() + place, &end, sizeof end);
        place += sizeof end;
    }
    for (const std::string& text : texts) block += text;
    return block;
}

}  // namespace

struct alignas(kLine) TicketPool::Head {
    alignas(kLine) Atomic word;
    alignas(kLine) Atomic turn_ends;  // nanoseconds of the machine's steady clock, common to all processes
};

// All fields of a descriptor and all words of a text are stored with release and loaded with acquire: a
// reader that saw a new value therefore also sees the mark that was set before it (`state`, or
// Area::reserved).
struct TicketPool::Descriptor {
    Atomic state;  // 2 * version + 1 while being written, + 2 when complete
    Atomic batch;
    Atomic first;
    Atomic tickets;
    Atomic text_start;
    Atomic text_bytes;
};

struct alignas(kLine) TicketPool::Area {
    Atomic reserved;  // text bytes of this rank that are written or being written, counted from the start of
                      // the run
    Descriptor descriptors[kDescriptors];
};

std::size_t TicketPool::bytes_needed(const PoolShape& shape) {
    return sizeof(Head) + shape.ranks * (sizeof(Area) + round_up(shape.text_bytes, kLine));
}

void TicketPool::format(std::byte* segment, const PoolShape& shape) {
    std::memset(segment, 0, bytes_needed(shape));
    new (segment) Head();
    // The all-zero word is empty; its tag means version 0 of rank 0, which nobody looks up while it is empty.
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
        new (segment + sizeof(Head) + rank * sizeof(Area)) Area();
}

TicketPool::TicketPool(std::byte* segment, const PoolShape& shape, std::uint32_t self)
    : segment_(segment), shape_(shape), self_(self), claimer_(head().word) {
    shape_.text_bytes = round_up(shape.text_bytes, kLine);
}

TicketPool::Head& TicketPool::head() const {
    return *std::launder(reinterpret_cast<Head*>(segment_));
}

TicketPool::Area& TicketPool::area(std::uint32_t rank) const {
    return *std::launder(reinterpret_cast<Area*>(segment_ + sizeof(Head) + rank * sizeof(Area)));
}

TicketPool::Atomic* TicketPool::text_words(std::uint32_t rank) const {
    std::byte* texts = segment_ + sizeof(Head) + shape_.ranks * sizeof(Area);
    return std::launder(reinterpret_cast<Atomic*>(texts + rank * shape_.text_bytes));
}

Claim TicketPool::take_from_new_fill(const WordClaim& got) {
    const auto found = meaning(got.tag);
    if (!found) {
        overwritten_ += got.count;
        Claim lost;
        lost.state = Claim::State::overwritten;
        return lost;
    }
    known_ = *found;
    known_tag_ = got.tag;
    known_state_ = &descriptor(got.tag).state;
    return claim_of(got);
}

TicketPool::Descriptor& TicketPool::descriptor(std::uint32_t tag) const {
    return area(writer_of(tag)).descriptors[version_of(tag) % kDescriptors];
}

std::optional<TicketPool::Meaning> TicketPool::meaning(std::uint32_t tag) const {
    if (writer_of(tag) >= shape_.ranks) return std::nullopt;
    const Descriptor& slot = descriptor(tag);
    const std::uint64_t state = slot.state.load(std::memory_order_acquire);
    if (state < 2 || state % 2 != 0 || ((state / 2 - 1) & kVersionMask) != version_of(tag))
        return std::nullopt;
    Meaning found;
    found.version = state;
    found.batch = slot.batch.load(std::memory_order_acquire);
    found.first = slot.first.load(std::memory_order_acquire);
    found.tickets = slot.tickets.load(std::memory_order_acquire);
    found.text_start = slot.text_start.load(std::memory_order_acquire);
    found.text_bytes = slot.text_bytes.load(std::memory_order_acquire);
    if (slot.state.load(std::memory_order_relaxed) != state) return std::nullopt;
    return found;
}

std::optional<std::vector<std::string>> TicketPool::texts(const Claim& claim) const {
    const auto fill = meaning(claim.tag);
    if (!fill || fill->version != claim.version) return std::nullopt;
    std::vector<std::string> texts;
    if (fill->text_bytes == 0) return texts;
    const std::uint32_t rank = writer_of(claim.tag);
    // The first text begins where the one before it ends.
    std::vector<std::uint32_t> ends(claim.range.count + 1);
    const std::uint32_t skip = claim.offset == 0 ? 0 : 1;
    copy_out(rank, fill->text_start + (claim.offset - skip) * sizeof(std::uint32_t),
             (claim.range.count + skip) * sizeof(std::uint32_t),
             reinterpret_cast<char*>(ends.data() + 1 - skip));
    const std::uint64_t bytes_at = fill->tickets * sizeof(std::uint32_t);
    std::string all;
    const bool sane = ends.front() <= ends.back() && bytes_at + ends.back() <= fill->text_bytes;
    if (sane) {
        all.resize(ends.back() - ends.front());
        copy_out(rank, fill->text_start + bytes_at + ends.front(), all.size(), all.data());
    }
    // Only now is it certain that the copy is what the fill's writer wrote.
    const std::uint64_t reserved = area(rank).reserved.load(std::memory_order_relaxed);
    if (reserved > fill->text_start + shape_.text_bytes || !sane) return std::nullopt;
    for (std::uint32_t i = 0; i < claim.range.count; ++i) {
        texts.push_back(all.substr(ends[i] - ends.front(), ends[i + 1] - ends[i]));
    }
    return texts;
}

void TicketPool::copy_out(std::uint32_t rank, std::uint64_t position, std::size_t bytes, char* out) const {
    const Atomic* words = text_words(rank);
    while (bytes > 0) {
        const std::size_t in_word = position % kWord;
        const std::size_t part = std::min(bytes, kWord - in_word);
        const std::uint64_t word =
            words[position % shape_.text_bytes / kWord].load(std::memory_order_acquire);
        std::memcpy(out, reinterpret_cast<const char*>(&word) + in_word, part);
        position += part, out += part, bytes -= part;
    }
}

Install TicketPool::install(const TicketRange& range, std::span<const std::string> texts) {
    if (range.count == 0 || range.count > kMostTickets) return Install::too_large;
    if (remaining() > 0) return Install::lost;
    Meaning meaning{0, range.batch.value(), range.first, 0, 0, range.count};
    if (!texts.empty() && !write_texts(texts, meaning)) return Install::too_large;
    const std::uint64_t full = pack({0, range.count, publish(meaning)});
    std::uint64_t seen = head().word.load(std::memory_order_relaxed);
    while (unpack(seen).remaining() == 0) {
        if (head().word.compare_exchange_weak(seen, full, std::memory_order_acq_rel,
                                              std::memory_order_relaxed)) {
            return Install::installed;
        }
    }
    return Install::lost;
}

bool TicketPool::write_texts(std::span<const std::string> texts, Meaning& meaning) {
    std::size_t total = texts.size() * sizeof(std::uint32_t);
    for (const std::string& text : texts) total += text.size();
    if (texts.size() != meaning.tickets || total > shape_.text_bytes) return false;
    const std::string block = text_block(texts);
    Area& own = area(self_);
    Atomic* words = text_words(self_);
    meaning.text_start = own.reserved.load(std::memory_order_relaxed);
    meaning.text_bytes = total;
    own.reserved.store(meaning.text_start + round_up(total, kWord), std::memory_order_relaxed);
    for (std::size_t done = 0; done < total; done += kWord) {
        std::uint64_t word = 0;
        std::memcpy(&word, block.data() + done, std::min(kWord, total - done));
        words[(meaning.text_start + done) % shape_.text_bytes / kWord].store(word, std::memory_order_release);
    }
    return true;
}

std::uint32_t TicketPool::publish(const Meaning& meaning) {
    const std::uint64_t version = version_++;
    Descriptor& slot = area(self_).descriptors[version % kDescriptors];
    slot.state.store(2 * version + 1, std::memory_order_relaxed);
    slot.batch.store(meaning.batch, std::memory_order_release);
    slot.first.store(meaning.first, std::memory_order_release);
    slot.tickets.store(meaning.tickets, std::memory_order_release);
    slot.text_start.store(meaning.text_start, std::memory_order_release);
    slot.text_bytes.store(meaning.text_bytes, std::memory_order_release);
    slot.state.store(2 * version + 2, std::memory_order_release);
    return self_ << kVersionBits | (static_cast<std::uint32_t>(version) & kVersionMask);
}

std::optional<TicketRange> TicketPool::revoke(BatchId batch) {
    std::uint64_t seen = head().word.load(std::memory_order_acquire);
    for (;;) {
        const TicketWord word = unpack(seen);
        if (word.remaining() == 0) return std::nullopt;
        const auto fill = meaning(word.tag);
        if (fill && fill->batch != batch.value()) return std::nullopt;
        if (!fill) {  // the word has changed since
            seen = head().word.load(std::memory_order_acquire);
            continue;
        }
        // Fails only if somebody claimed or installed: never more often than there are tickets.
        if (!head().word.compare_exchange_weak(seen, pack({word.end, word.end, word.tag}),
                                               std::memory_order_acq_rel, std::memory_order_acquire)) {
            continue;
        }
        return TicketRange{batch, fill->first + word.next, word.remaining()};
    }
}

std::optional<TicketRange> TicketPool::unclaimed() const {
    for (;;) {
        const TicketWord word = unpack(head().word.load(std::memory_order_acquire));
        if (word.remaining() == 0) return std::nullopt;
        // None: the word has another fill since.
        if (const auto fill = meaning(word.tag))
            return TicketRange{BatchId(static_cast<std::uint32_t>(fill->batch)), fill->first + word.next,
                               word.remaining()};
    }
}

std::uint32_t TicketPool::remaining() const {
    return unpack(head().word.load(std::memory_order_relaxed)).remaining();
}

bool TicketPool::refill_turn(Instant now, Duration timeout) {
    const auto time = static_cast<std::uint64_t>(now.time_since_epoch().count());
    std::uint64_t ends = head().turn_ends.load(std::memory_order_relaxed);
    if (ends > time) return false;
    return head().turn_ends.compare_exchange_strong(ends, time + static_cast<std::uint64_t>(timeout.count()),
                                                    std::memory_order_relaxed);
}

void TicketPool::end_refill_turn() {
    head().turn_ends.store(0, std::memory_order_relaxed);
}

}  // namespace wq::ranks::tickets
