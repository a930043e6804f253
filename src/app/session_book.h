// The workers over TCP as their manager knows them. A link may be cut and mended; the session stays: the
// worker comes back with its identity and the token that it was given, keeps its number, and its answers are
// counted on, so that none is taken twice or missed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "stats/records.h"
#include "wire/messages.h"

namespace wq::app {

struct Session {
    std::string identity;
    std::string token;
    stats::WorkerRecord record;
    std::uint64_t answers = 0;        // received, since it first came
    std::uint64_t acknowledged = 0;   // of these
    bool confirmed = false;           // it has said something since it was welcomed: it has the token
    std::int64_t clock_ahead_us = 0;  // of its wall clock, before ours
};

class SessionBook {
  public:
    // What somebody who says hello is to this book.
    enum class Claim {
        first,  // nobody of that identity is known
        comes_back,
        anew,   // it never had our welcome: who was known by that identity is gone, and ran nothing
        taken,  // another worker has this identity
    };
    Claim judge(const wire::Hello& hello) const;

    // No number is given twice, nor that of a rank.
    void keep_number(WorkerId of_a_rank);
    WorkerId next_number() { return WorkerId(next_number_++); }

    // Valid until close().
    Session& open(std::string identity, stats::WorkerRecord record);
    void close(WorkerId worker);
    Session* find(const std::string& identity);
    Session* find(WorkerId worker);

  private:
    std::map<std::string, Session> sessions_;
    std::unordered_map<WorkerId, std::string> identities_;
    std::uint32_t next_number_ = 1;
};

// Why a hello of a worker over TCP cannot be; nothing: it can. What it says ends up in logs and sums.
std::optional<std::string> nonsense_in(const wire::Hello& hello);

// What a peer says of an end, within what sums and logs can bear.
void make_plausible(core::Outcome& outcome);

// A name that $OS or $ARCH may stand for: it becomes a part of paths.
bool is_platform(std::string_view name);

std::string random_token();  // 128 bits in hex

}  // namespace wq::app
