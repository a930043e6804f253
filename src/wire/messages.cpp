#include "wire/messages.h"

#include <array>
#include <type_traits>

#include "core/codec.h"

namespace wq::wire {

namespace {

// Gaps and lengths.
void put(ByteWriter& out, const IntervalSet& value) {
    out.u64(value.ranges());
    std::uint64_t last = 0;
    value.for_each([&](Interval range) {
        out.u64(range.first - last);
        out.u64(range.size());
        last = range.end;
    });
}

void get(ByteReader& in, IntervalSet& value) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    const std::uint64_t ranges = in.count(2);
    std::uint64_t last = 0;
    for (std::uint64_t index = 0; index < ranges && in.ok(); ++index) {
        const std::uint64_t gap = in.u64();
        const std::uint64_t size = in.u64();
        if (gap > most || size > most || size == 0 || last + gap + size > most) return in.fail();
        value.insert({last + gap, last + gap + size});
        last += gap + size;
    }
}

// One pair of functions a message; the kind byte is the message's place in the variant, so a new message goes
// at the variant's end and its version into the history above.

void body(ByteWriter& out, const Hello& m) {
    out.u64(m.version);
    out.u64(m.rank);
    out.blob(m.host);
    put(out, m.offers);
    out.i64(m.leaves_at.value_or(0));
    out.boolean(m.takes_tickets);
    out.blob(m.remark);
}
void body(ByteReader& in, Hello& m) {
    m.version = in.u32();
    m.rank = in.u32();
    m.host = in.blob();
    get(in, m.offers);
    if (const std::int64_t at = in.i64(); at != 0) m.leaves_at = at;
    m.takes_tickets = in.boolean();
    m.remark = in.blob();
}

void attempt(ByteWriter& out, TaskId task, Attempt number) {
    out.u64(task.value());
    out.u64(number);
}
void attempt(ByteReader& in, TaskId& task, Attempt& number) {
    task = TaskId(in.u64());
    number = in.u32();
}

void body(ByteWriter& out, const Ended& m) {
    attempt(out, m.task, m.attempt);
    put(out, m.outcome);
    put(out, m.output);
}
void body(ByteReader& in, Ended& m) {
    attempt(in, m.task, m.attempt);
    get(in, m.outcome);
    get(in, m.output);
}

void body(ByteWriter& out, const GivenBack& m) {
    attempt(out, m.task, m.attempt);
}
void body(ByteReader& in, GivenBack& m) {
    attempt(in, m.task, m.attempt);
}

void body(ByteWriter& out, const Account& m) {
    out.u64(m.batch.value());
    put(out, m.holding);
    out.boolean(m.saw_dry);
}
void body(ByteReader& in, Account& m) {
    m.batch = BatchId(in.u32());
    get(in, m.holding);
    m.saw_dry = in.boolean();
}

void body(ByteWriter& out, const WantTickets& m) {
    out.u64(m.batch.value());
}
void body(ByteReader& in, WantTickets& m) {
    m.batch = BatchId(in.u32());
}

void body(ByteWriter& out, const WantTexts& m) {
    out.u64(m.batch.value());
    out.u64(m.first);
    out.u64(m.count);
}
void body(ByteReader& in, WantTexts& m) {
    m.batch = BatchId(in.u32());
    m.first = in.u64();
    m.count = in.u64();
}

void body(ByteWriter& out, const Goodbye& m) {
    out.blob(m.why);
}
void body(ByteReader& in, Goodbye& m) {
    m.why = in.blob();
}
void body(ByteWriter& out, const EnvironmentReport& m) {
    out.u64(m.position);
    out.i64(m.exit_code);
    out.blob(m.text);
}
void body(ByteReader& in, EnvironmentReport& m) {
    m.position = in.u64();
    m.exit_code = static_cast<int>(in.i64());
    m.text = in.blob();
}
void body(ByteWriter& out, const Welcome& m) {
    out.u64(m.version);
}
void body(ByteReader& in, Welcome& m) {
    m.version = in.u32();
}

void body(ByteWriter& out, const EnvironmentLine& m) {
    out.u64(m.position);
    out.blob(m.text);
}
void body(ByteReader& in, EnvironmentLine& m) {
    m.position = in.u64();
    m.text = in.blob();
}

void body(ByteWriter& out, const Lease& m) {
    attempt(out, m.task, m.attempt);
    put(out, m.give);
    out.i64(m.timeout.count());
    out.i64(m.memory_limit_mb);
    out.u64(m.environment_position);
    out.blob(m.text);
    out.pairs(m.variables);
}
void body(ByteReader& in, Lease& m) {
    attempt(in, m.task, m.attempt);
    get(in, m.give);
    m.timeout = Duration(in.i64());
    m.memory_limit_mb = in.i64();
    m.environment_position = in.u64();
    m.text = in.blob();
    m.variables = in.pairs();
}

void body(ByteWriter&, const KillAll&) {}
void body(ByteReader&, KillAll&) {}
void body(ByteWriter& out, const Recall& m) {
    out.u64(m.most);
}
void body(ByteReader& in, Recall& m) {
    m.most = in.u64();
}

void body(ByteWriter& out, const SealedBatch& m) {
    out.u64(m.batch.value());
    put(out, m.tasks);
    put(out, m.needs);
    out.i64(m.timeout.count());
    out.i64(m.memory_limit_mb);
    out.blobs(m.command);
    out.blob(m.indexes);
    out.u64(m.first_item.value());
    out.boolean(m.by_counter);
    out.u64(m.nodes);
}
void body(ByteReader& in, SealedBatch& m) {
    m.batch = BatchId(in.u32());
    get(in, m.tasks);
    get(in, m.needs);
    m.timeout = Duration(in.i64());
    m.memory_limit_mb = in.i64();
    m.command = in.blobs();
    m.indexes = in.blob();
    m.first_item = TaskId(in.u64());
    m.by_counter = in.boolean();
    m.nodes = in.u32();
}

void body(ByteWriter& out, const Tickets& m) {
    out.u64(m.batch.value());
    out.u64(m.first);
    out.u64(m.count);
    out.boolean(m.texts_only);
    out.blobs(m.texts);
}
void body(ByteReader& in, Tickets& m) {
    m.batch = BatchId(in.u32());
    m.first = in.u64();
    m.count = in.u64();
    m.texts_only = in.boolean();
    m.texts = in.blobs();
}

void body(ByteWriter& out, const RevokedBatch& m) {
    out.u64(m.batch.value());
}
void body(ByteReader& in, RevokedBatch& m) {
    m.batch = BatchId(in.u32());
}

void body(ByteWriter& out, const Dismiss& m) {
    out.blob(m.why);
    out.boolean(m.ranks_lost);
}
void body(ByteReader& in, Dismiss& m) {
    m.why = in.blob();
    m.ranks_lost = in.boolean();
}
void body(ByteWriter&, const Beat&) {}
void body(ByteReader&, Beat&) {}

template <std::size_t Kind>
std::optional<Message> read(ByteReader& in) {
    std::variant_alternative_t<Kind, Message> message;
    body(in, message);
    if (!in.ok()) return std::nullopt;
    return message;
}

template <std::size_t... Kinds>
constexpr auto make_readers(std::index_sequence<Kinds...>) {
    return std::array{&read<Kinds>...};
}
constexpr auto readers = make_readers(std::make_index_sequence<std::variant_size_v<Message>>());

}  // namespace

void encode(const Message& message, ByteWriter& out) {
    out.u8(static_cast<std::uint8_t>(message.index()));
    std::visit([&](const auto& known) { body(out, known); }, message);
}

std::string encode(const Message& message) {
    ByteWriter out;
    encode(message, out);
    return out.take();
}

std::optional<Message> decode(ByteReader& in) {
    const std::uint8_t kind = in.u8();
    if (!in.ok() || kind >= readers.size()) {
        in.fail();
        return std::nullopt;
    }
    return readers[kind](in);
}

}  // namespace wq::wire
