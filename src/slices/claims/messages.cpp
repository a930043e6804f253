#include "slices/claims/messages.h"

#include <type_traits>

#include "base/bytes.h"

namespace wq::slices::claims {

namespace {

void write(ByteWriter& out, const Interval& range) {
    out.u64(range.first);
    out.u64(range.end);
}
Interval read_interval(ByteReader& in) {
    Interval range;
    range.first = in.u64();
    range.end = in.u64();
    if (range.first >= range.end) in.fail();
    return range;
}

// Each range by its distance from the one before: consecutive sets stay small.
void write(ByteWriter& out, const IntervalSet& positions) {
    out.u64(positions.ranges());
    std::uint64_t before = 0;
    positions.for_each([&](const Interval& range) {
        out.u64(range.first - before);
        out.u64(range.size());
        before = range.end;
    });
}
IntervalSet read_positions(ByteReader& in) {
    IntervalSet positions;
    std::uint64_t before = 0;
    for (std::uint64_t left = in.count(2); left > 0 && in.ok(); --left) {
        const std::uint64_t first = before + in.u64();
        const std::uint64_t end = first + in.u64();
        if (first < before || end <= first) in.fail();
        if (in.ok()) positions.insert(Interval{first, end});
        before = end;
    }
    return positions;
}

struct Writer {
    ByteWriter& out;
    void operator()(const Hello& hello) const {
        out.u64(hello.version);
        out.blob(hello.node);
        out.u64(hello.rank);
        out.boolean(hello.draws);
    }
    void operator()(const RefillDone& done) const {
        out.boolean(done.gives_back);
        write(out, done.positions);
    }
    void operator()(const CounterRange& range) const { write(out, range.positions); }
    void operator()(const SealReply& reply) const { out.u64(reply.batch); }
    void operator()(const SealOpened& sealed) const {
        out.u64(sealed.batch);
        write(out, sealed.positions);
        out.u64(sealed.epoch);
        out.u64(sealed.takers);
    }
    void operator()(const SealClosed& closed) const { out.u64(closed.batch); }
    void operator()(const Committed& committed) const {
        out.u64(committed.taken);
        write(out, committed.positions);
        write(out, committed.failed);
        out.u64(committed.times.size());
        for (const Timed& each : committed.times) {
            out.u64(each.position);
            out.i64(each.taken_us);
            out.i64(each.committed_us - each.taken_us);
            out.boolean(each.failed);
        }
    }
    void operator()(const CensusReply& reply) const {
        out.u64(reply.batch);
        write(out, reply.positions);
    }
    void operator()(const Granted& granted) const { write(out, granted.positions); }
    void operator()(const Welcome& welcome) const {
        out.u64(welcome.batch);
        out.u64(welcome.rank);
        out.boolean(welcome.commits);
        out.boolean(welcome.times);
    }
    void operator()(const Ended& ended) const { out.boolean(ended.lost_some); }
    void operator()(const Census& census) const { out.u64(census.batch); }
    void operator()(const ReportCommits& order) const { out.u64(order.round); }
    void operator()(const CommitsReported& reply) const { out.u64(reply.round); }
    void operator()(const Question& question) const {
        out.u64(question.number);
        out.blob(question.what);
    }
    void operator()(const Refused& refused) const { out.blob(refused.why); }
    void operator()(const Answer& answer) const {
        out.u64(answer.number);
        out.blob(answer.what);
    }
    template <class Empty>
    void operator()(const Empty&) const {
        static_assert(std::is_empty_v<Empty>);
    }
};

template <std::size_t kind = 0>
Message of_kind(std::size_t wanted) {
    if constexpr (kind < std::variant_size_v<Message>)
        return wanted == kind ? Message(std::in_place_index<kind>) : of_kind<kind + 1>(wanted);
    else
        return {};
}

void skip(ByteReader& in) {
    static_cast<void>(in.raw(in.rest().size()));
}

struct Reader {
    ByteReader& in;
    void operator()(Hello& hello) const {
        hello.version = in.u32();
        if (hello.version != feed_version) return skip(in);  // its other fields may be others
        hello.node = in.blob();
        hello.rank = in.u32();
        hello.draws = in.boolean();
    }
    void operator()(RefillDone& done) const {
        done.gives_back = in.boolean();
        done.positions = read_interval(in);
    }
    void operator()(CounterRange& range) const { range.positions = read_interval(in); }
    void operator()(SealReply& reply) const { reply.batch = in.u32(); }
    void operator()(SealOpened& sealed) const {
        sealed.batch = in.u32();
        sealed.positions = read_interval(in);
        sealed.epoch = in.u64();
        sealed.takers = in.u64();
    }
    void operator()(SealClosed& closed) const { closed.batch = in.u32(); }
    void operator()(Committed& committed) const {
        committed.taken = in.u64();
        committed.positions = read_positions(in);
        committed.failed = read_positions(in);
        for (std::uint64_t left = in.count(4); left > 0 && in.ok(); --left) {
            Timed each{in.u64(), in.i64(), in.i64(), in.boolean()};
            if (__builtin_add_overflow(each.committed_us, each.taken_us, &each.committed_us)) in.fail();
            committed.times.push_back(each);
        }
    }
    void operator()(CensusReply& reply) const {
        reply.batch = in.u32();
        reply.positions = read_positions(in);
    }
    void operator()(Granted& granted) const { granted.positions = read_interval(in); }
    void operator()(Welcome& welcome) const {
        welcome.batch = in.u32();
        welcome.rank = in.u32();
        welcome.commits = in.boolean();
        welcome.times = in.boolean();
    }
    void operator()(Ended& ended) const { ended.lost_some = in.boolean(); }
    void operator()(Census& census) const { census.batch = in.u32(); }
    void operator()(ReportCommits& order) const { order.round = in.u32(); }
    void operator()(CommitsReported& reply) const { reply.round = in.u32(); }
    void operator()(Question& question) const {
        question.number = in.u64();
        question.what = in.blob();
    }
    void operator()(Refused& refused) const { refused.why = in.blob(); }
    void operator()(Answer& answer) const {
        answer.number = in.u64();
        answer.what = in.blob();
    }
    template <class Empty>
    void operator()(Empty&) const {
        static_assert(std::is_empty_v<Empty>);
    }
};

}  // namespace

std::string encode(const Message& message) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(message.index()));
    std::visit(Writer{out}, message);
    return out.take();
}

bool is_answer(std::string_view bytes) {
    return !bytes.empty() && static_cast<unsigned char>(bytes.front()) == Message(Answer{}).index();
}

std::optional<Message> decode(std::string_view bytes) {
    ByteReader in(bytes);
    const std::size_t kind = in.u8();
    if (!in.ok() || kind >= std::variant_size_v<Message>) return std::nullopt;
    Message message = of_kind(kind);
    std::visit(Reader{in}, message);
    if (!in.at_end()) return std::nullopt;
    return message;
}

}  // namespace wq::slices::claims
