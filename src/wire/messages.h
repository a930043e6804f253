// What manager and workers say to each other. A frame holds any number of messages, one after the other; each
// is a kind byte and its fields (base/bytes.h). Decoding is bounded: whatever a peer sends, nothing here
// throws, asserts or reserves more than the frame's own size.
//
// Versions: 1 (first).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "core/outcome.h"
#include "core/resources.h"

namespace wq::wire {

inline constexpr std::uint32_t protocol_version = 1;

// ---- worker -> manager ----

struct Hello {
    std::uint32_t version = protocol_version;
    std::uint32_t rank = 0;
    std::string host;
    core::Resources offers;
    std::optional<WallMicros> leaves_at;
    bool takes_tickets = false;
    std::string remark;  // one line for the user, e.g. "bound to 1 of 64 cores"; may be empty
};
struct Ended {
    TaskId task;
    Attempt attempt = 0;
    core::Outcome outcome;
    core::Output output;
};
struct GivenBack {
    TaskId task;
    Attempt attempt = 0;
};
struct Account {  // of a batch, see core/batches.h
    BatchId batch;
    IntervalSet holding;
    bool saw_dry = false;
};
struct WantTickets {  // its node has nothing of this batch left to claim
    BatchId batch;
};
struct WantTexts {  // it drew this range from the counter window, or its texts were overwritten
    BatchId batch;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};
struct Goodbye {  // it leaves by itself; what it held was given back before
    std::string why;
};
struct EnvironmentReport {       // a `#!` line failed, or wrote to stderr
    std::uint64_t position = 0;  // as EnvironmentLine's
    int exit_code = 0;
    std::string text;  // what it wrote, the beginning
};

// ---- manager -> worker ----

struct Welcome {
    std::uint32_t version = protocol_version;
};
struct EnvironmentLine {  // a `#!` line that applies to this worker; in order
    std::uint64_t position = 0;
    std::string text;
};
struct Lease {
    TaskId task;
    Attempt attempt = 1;
    core::Resources give;
    Duration timeout{0};
    std::int64_t memory_limit_mb = 0;
    std::uint64_t environment_position = 0;
    std::string text;
    std::vector<std::pair<std::string, std::string>> variables;
};
struct KillAll {};
struct Recall {
    std::uint64_t most = 0;
};
struct SealedBatch {  // may be claimed by ticket; ticket n is the n-th task of `tasks`, always as attempt 1
    BatchId batch;
    IntervalSet tasks;
    core::Needs needs;
    Duration timeout{0};
    std::int64_t memory_limit_mb = 0;
    // Where all tasks are items of one `--array`: its template and indexes, and the id of its first item.
    // Else each ticket comes with its text.
    std::vector<std::string> command;
    std::string indexes;
    TaskId first_item;
    bool by_counter = false;  // ranges are drawn from rank 0's counter window, not asked for
    std::uint32_t nodes = 1;  // that share it: for the size of a range
};
struct Tickets {  // answer to WantTickets and WantTexts
    BatchId batch;
    std::uint64_t first = 0;
    std::uint64_t count = 0;         // 0: nothing is left of the batch
    bool texts_only = false;         // answer to WantTexts: the range was the asker's before
    std::vector<std::string> texts;  // none where the batch has a template
};
struct RevokedBatch {  // claim no more of it
    BatchId batch;
};
struct Dismiss {  // end; nothing more counts
    std::string why;
    bool ranks_lost = false;  // leave without MPI_Finalize, which would wait for them
};

// ---- both ways ----

struct Beat {};  // alive

using Message = std::variant<Hello, Ended, GivenBack, Account, WantTickets, WantTexts, Goodbye,
                             EnvironmentReport, Welcome, EnvironmentLine, Lease, KillAll, Recall, SealedBatch,
                             Tickets, RevokedBatch, Dismiss, Beat>;

void encode(const Message& message, ByteWriter& out);
std::string encode(const Message& message);

// The next message of a frame; nothing when it is malformed (the reader is then not ok()).
std::optional<Message> decode(ByteReader& in);

}  // namespace wq::wire
