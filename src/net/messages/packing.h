// The fields of messages, packed as msgpack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "net/messages/messages.h"
#include "net/messages/msgpack_library.h"

namespace wq::net::messages {

// The fields of every message, listed once for both encoding and decoding. A visitor is called with all
// fields of a value at once.

// Values of the core in messages.
template <class V>
void fields(engine::model::Resources& v, V& visit) {
    visit(v.cores, v.memory_mb, v.disk_mb, v.gpus, v.coprocesses);
}
template <class V>
void fields(engine::model::Needs& v, V& visit) {
    visit(v.cores, v.memory_mb, v.disk_mb, v.gpus, v.coprocesses);
}
template <class V>
void fields(engine::model::AllocationRules& v, V& visit) {
    visit(v.rest, v.whole_tasks);
}
template <class V>
void fields(engine::model::Sizes& v, V& visit) {
    visit(v.cores, v.memory_mb, v.disk_mb, v.gpus);
}
template <class V>
void fields(engine::model::Watch& v, V& visit) {
    visit(v.measures, v.limits, v.series);
}
template <class V>
void fields(engine::model::Usage& v, V& visit) {
#define WQ_REST(name, unit, meaning) , v.name
    visit(v.cores WQ_USAGE_BUT_CORES(WQ_REST));
#undef WQ_REST
}
template <class V>
void fields(engine::model::Measured& v, V& visit) {
    visit(v.usage, v.exceeded, v.disk_wait);
}
template <class V>
void fields(engine::model::FileTimes& v, V& visit) {
    visit(v.inputs_there_us, v.outputs_there_us);
}
template <class V>
void fields(engine::model::Outcome& v, V& visit) {
    visit(v.ending, v.exit_code, v.signal, v.started_us, v.wall_us, v.user_us, v.system_us, v.peak_memory_kb,
          v.bytes_read, v.bytes_written, v.stdout_bytes, v.stderr_bytes, v.reason, v.measured, v.files);
}
template <class V>
void fields(engine::model::Output& v, V& visit) {
    visit(v.out, v.err, v.result, v.monitor);
}
template <class V>
void fields(engine::model::UsagePoint& v, V& visit) {
    visit(v.at_us, v.label, v.usage);
}
template <class V>
void fields(engine::model::MonitorReport& v, V& visit) {
    visit(v.machine_cpus, v.machine_load, v.peak_us, v.points);
}
template <class V>
void fields(Call& v, V& visit) {
    visit(v.function, v.arguments, v.mode, v.coprocess);
}

template <class V>
void fields(InputFile& v, V& visit) {
    visit(v.name, v.kind, v.from, v.key, v.content);
}
template <class V>
void fields(OutputFile& v, V& visit) {
    visit(v.name, v.on_failure, v.on_success, v.watched);
}
template <class V>
void fields(LeaseFiles& v, V& visit) {
    visit(v.inputs, v.outputs);
}

template <class V>
void fields(Hello& m, V& visit) {
    visit(m.version, m.rank, m.host, m.offers, m.leaves_in, m.process_age, m.job_age, m.allocated_cores,
          m.clock, m.takes_tickets, m.remark, m.features, m.os, m.arch, m.node, m.job, m.address, m.identity,
          m.resume, m.answers_sent, m.holding);
}
template <class V>
void fields(Refused& m, V& visit) {
    visit(m.version, m.why);
}
template <class V>
void fields(Welcome& m, V& visit) {
    visit(m.version, m.worker, m.resume, m.grace, m.answers_received, m.directory, m.index_variable,
          m.mark_path, m.mark, m.output_limit, m.memory_path, m.memory_mark);
}
template <class V>
void fields(Ended& m, V& visit) {
    visit(m.task, m.attempt, m.outcome, m.output);
}
template <class V>
void fields(GivenBack& m, V& visit) {
    visit(m.task, m.attempt);
}
template <class V>
void fields(RangeEnded& m, V& visit) {
    visit(m.batch, m.done, m.started_us, m.wall_us);
}
template <class V>
void fields(Draining&, V& visit) {
    visit();
}
template <class V>
void fields(Account& m, V& visit) {
    visit(m.batch, m.holding, m.saw_dry);
}
template <class V>
void fields(WantTickets& m, V& visit) {
    visit(m.batch);
}
template <class V>
void fields(WantTexts& m, V& visit) {
    visit(m.batch, m.first, m.count);
}
template <class V>
void fields(SharesFiles&, V& visit) {
    visit();
}
template <class V>
void fields(SharesMemory&, V& visit) {
    visit();
}
template <class V>
void fields(Goodbye& m, V& visit) {
    visit(m.why, m.idle);
}
template <class V>
void fields(Keeps& m, V& visit) {
    visit(m.tasks);
}
template <class V>
void fields(LastWords& m, V& visit) {
    visit(m.version, m.identity, m.resume, m.all_ended);
}
template <class V>
void fields(EnvironmentReport& m, V& visit) {
    visit(m.position, m.exit_code, m.text);
}
template <class V>
void fields(Acknowledged& m, V& visit) {
    visit(m.answers);
}
template <class V>
void fields(EnvironmentLine& m, V& visit) {
    visit(m.position, m.text);
}
template <class V>
void fields(Lease& m, V& visit) {
    visit(m.task, m.attempt, m.give, m.timeout, m.watch, m.environment_position, m.text, m.variables, m.call,
          m.files);
}
template <class V>
void fields(WantInput& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.upto, m.stream, m.missed);
}
template <class V>
void fields(HaveInput& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.folder);
}
template <class V>
void fields(InputIsAt& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.path);
}
template <class V>
void fields(InputPart& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.stream, m.bytes, m.last);
}
template <class V>
void fields(NoInput& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.why);
}
template <class V>
void fields(OutputPart& m, V& visit) {
    visit(m.task, m.attempt, m.output, m.bytes, m.last);
}
template <class V>
void fields(TakeOutput& m, V& visit) {
    visit(m.task, m.attempt, m.upto);
}
template <class V>
void fields(WatchedPart& m, V& visit) {
    visit(m.task, m.attempt, m.output, m.offset, m.bytes);
}
template <class V>
void fields(WatchedTaken& m, V& visit) {
    visit(m.task, m.attempt);
}
template <class V>
void fields(OutputsSent& m, V& visit) {
    visit(m.task, m.attempt);
}
template <class V>
void fields(OutputsKept& m, V& visit) {
    visit(m.task, m.attempt, m.trouble);
}
template <class V>
void fields(Kill& m, V& visit) {
    visit(m.task, m.attempt, m.count);
}
template <class V>
void fields(KillAll&, V& visit) {
    visit();
}
template <class V>
void fields(Recall& m, V& visit) {
    visit(m.most);
}
template <class V>
void fields(SealedBatch& m, V& visit) {
    visit(m.batch, m.tasks, m.needs, m.rules, m.timeout, m.watch, m.command, m.indexes, m.first_item, m.call,
          m.first_index, m.by_counter, m.nodes);
}
template <class V>
void fields(Tickets& m, V& visit) {
    visit(m.batch, m.first, m.count, m.texts_only, m.texts);
}
template <class V>
void fields(RevokedBatch& m, V& visit) {
    visit(m.batch);
}
template <class V>
void fields(Dismiss& m, V& visit) {
    visit(m.why, m.ranks_lost, m.for_good);
}
template <class V>
void fields(StatusQuery& m, V& visit) {
    visit(m.version, m.what, m.from);
}
template <class V>
void fields(StatusPart& m, V& visit) {
    visit(m.records, m.next);
}
template <class V>
void fields(TasksOfShape& v, V& visit) {
    visit(v.category, v.needs, v.rules, v.features, v.ready, v.on_workers);
}
template <class V>
void fields(WorkerStatus& v, V& visit) {
    visit(v.worker, v.host, v.offers, v.tasks, v.job, v.factory, v.is_rank, v.connected);
}
template <class V>
void fields(StatusReport& m, V& visit) {
    visit(m.version, m.shapes, m.further, m.workers, m.blocked, m.submitted, m.done, m.failed,
          m.capacity_tasks, m.ending, m.running, m.elapsed_us, m.ended_in_1000_s);
}
template <class V>
void fields(Beat&, V& visit) {
    visit();
}

// Fields -> msgpack.
class Pack {
  public:
    explicit Pack(ByteWriter& out) : sink_{out}, out_(sink_) {}

    template <class M>
    void message(std::size_t kind, const M& message) {
        prefix_ = kind;
        fields(const_cast<M&>(message),
               *this);  // field lists serve both directions and take no const; nothing is changed
    }

    template <class... F>
    void operator()(const F&... field) {
        const auto kind = std::exchange(prefix_, std::nullopt);
        out_.pack_array(static_cast<std::uint32_t>(sizeof...(F) + (kind ? 1 : 0)));
        if (kind) out_.pack(static_cast<std::uint64_t>(*kind));
        (put(field), ...);
    }

  private:
    struct Sink {
        ByteWriter& bytes;
        void write(const char* data, std::size_t size) { bytes.raw({data, size}); }
    };

    void put(bool value) { out_.pack(value); }
    void put(const std::string& value) {
        out_.pack_bin(static_cast<std::uint32_t>(value.size()));
        out_.pack_bin_body(value.data(), static_cast<std::uint32_t>(value.size()));
    }
    void put(Count value) { out_.pack(value.thousandths()); }
    void put(Duration value) { out_.pack(static_cast<std::int64_t>(value.count())); }
    void put(const IntervalSet& value) {  // as gaps and lengths
        out_.pack_array(static_cast<std::uint32_t>(2 * value.ranges()));
        std::uint64_t last = 0;
        value.for_each([&](Interval range) {
            out_.pack(range.first - last);
            out_.pack(range.size());
            last = range.end;
        });
    }
    template <class Tag, class Rep>
    void put(Id<Tag, Rep> value) {
        out_.pack(static_cast<std::uint64_t>(value.value()));
    }
    template <class T>
    void put(const std::optional<T>& value) {
        if (value)
            put(*value);
        else
            out_.pack_nil();
    }
    template <class A, class B>
    void put(const std::pair<A, B>& value) {
        out_.pack_array(2);
        put(value.first);
        put(value.second);
    }
    template <class T>
    void put(const std::vector<T>& values) {
        out_.pack_array(static_cast<std::uint32_t>(values.size()));
        for (const T& value : values) put(value);
    }
    template <class T>
    void put(const T& value) {
        if constexpr (std::is_enum_v<T>)
            out_.pack(static_cast<std::uint64_t>(value));
        else if constexpr (std::is_integral_v<T>)
            out_.pack(value);
        else
            fields(const_cast<T&>(value), *this);
    }

    Sink sink_;
    msgpack::packer<Sink> out_;
    std::optional<std::size_t> prefix_;
};

// msgpack -> fields. If a value does not fit its field, the reader is not ok(); nothing throws.
class Unpack {
  public:
    // `value`: an array; its elements from `first` on are the fields.
    Unpack(const msgpack::object& value, std::size_t first) : next_(&value), first_(first) {}

    bool ok() const { return ok_; }

    template <class... F>
    void operator()(F&... field) {
        const msgpack::object& value = *next_;
        const std::size_t first = std::exchange(first_, 0);
        if (value.type != msgpack::type::ARRAY || value.via.array.size != first + sizeof...(F)) return fail();
        [[maybe_unused]] const msgpack::object* at = value.via.array.ptr + first;
        (get(*at++, field), ...);
    }

  private:
    void fail() { ok_ = false; }

    void get(const msgpack::object& in, bool& value) {
        if (in.type != msgpack::type::BOOLEAN) return fail();
        value = in.via.boolean;
    }
    void get(const msgpack::object& in, std::string& value) {
        if (in.type != msgpack::type::BIN) return fail();
        value.assign(in.via.bin.ptr, in.via.bin.size);
    }
    void get(const msgpack::object& in, Duration& value) {
        std::int64_t count = 0;
        get(in, count);
        value = Duration(count);
    }
    void get(const msgpack::object& in, IntervalSet& value) {
        constexpr std::uint64_t most = std::uint64_t{1} << 62;
        if (in.type != msgpack::type::ARRAY || in.via.array.size % 2 != 0) return fail();
        std::uint64_t last = 0;
        for (std::uint32_t index = 0; index < in.via.array.size && ok_; index += 2) {
            std::uint64_t gap = 0;
            std::uint64_t size = 0;
            get_number(in.via.array.ptr[index], gap);
            get_number(in.via.array.ptr[index + 1], size);
            if (gap > most || size > most || size == 0 || last + gap + size > most) return fail();
            value.insert({last + gap, last + gap + size});
            last += gap + size;
        }
    }
    template <class Tag, class Rep>
    void get(const msgpack::object& in, Id<Tag, Rep>& value) {
        Rep number = 0;
        get(in, number);
        value = Id<Tag, Rep>(number);
    }
    void get(const msgpack::object& in, Count& value) {
        std::int64_t thousandths = 0;
        get_number(in, thousandths);
        value = Count::of_thousandths(thousandths);
    }
    template <class T>
    void get(const msgpack::object& in, std::optional<T>& value) {
        if (in.type == msgpack::type::NIL) return value.reset();
        get(in, value.emplace());
    }
    template <class A, class B>
    void get(const msgpack::object& in, std::pair<A, B>& value) {
        if (in.type != msgpack::type::ARRAY || in.via.array.size != 2) return fail();
        get(in.via.array.ptr[0], value.first);
        get(in.via.array.ptr[1], value.second);
    }
    template <class T>
    void get(const msgpack::object& in, std::vector<T>& values) {
        if (in.type != msgpack::type::ARRAY) return fail();
        for (std::uint32_t index = 0; index < in.via.array.size && ok_; ++index)
            get(in.via.array.ptr[index], values.emplace_back());
    }
    void get(const msgpack::object& in, engine::model::Resources& value) { get_amounts(in, value, 0); }
    void get(const msgpack::object& in, engine::model::Needs& value) { get_amounts(in, value, -1); }
    void get(const msgpack::object& in, engine::model::Sizes& value) {
        nested(in, value);
        for (const engine::model::ResourceKind kind : engine::model::resource_kinds)
            if (value.at(kind) < engine::model::unsaid || value.at(kind) > engine::model::most_size) fail();
    }
    void get(const msgpack::object& in, engine::model::Usage& value) {
        nested(in, value);
        value = engine::model::within_bounds(value);
    }
    void get(const msgpack::object& in, engine::model::Measured& value) {
        nested(in, value);
        value.disk_wait = std::clamp<std::int64_t>(value.disk_wait, engine::model::unsaid, 1000);
    }
    void get(const msgpack::object& in, engine::model::UsagePoint& value) {
        nested(in, value);
        value.at_us = std::clamp<std::int64_t>(value.at_us, 0, engine::model::most_measured);
    }
    template <class T>
    void get(const msgpack::object& in, T& value) {
        if constexpr (std::is_integral_v<T>)
            get_number(in, value);
        else if constexpr (std::is_enum_v<T>)
            get_enum(in, value, last_of(T{}));
        else
            nested(in, value);
    }

    template <class Amounts>
    void get_amounts(const msgpack::object& in, Amounts& value, std::int64_t least) {
        nested(in, value);
        for (const std::int64_t amount : {value.memory_mb, value.disk_mb})
            if (amount < least || amount > engine::model::most_size) fail();
        for (const Count amount : {value.cores, value.gpus})
            if (amount < least || amount.thousandths() > engine::model::most_size) fail();
        if (value.coprocesses < 0 || value.coprocesses > engine::model::most_coprocesses) fail();
    }
    template <class T>
    void nested(const msgpack::object& in, T& value) {
        const msgpack::object* const before = std::exchange(next_, &in);
        fields(value, *this);
        next_ = before;
    }
    template <class T>
    void get_number(const msgpack::object& in, T& value) {
        if (in.type == msgpack::type::POSITIVE_INTEGER && std::in_range<T>(in.via.u64))
            value = static_cast<T>(in.via.u64);
        else if (in.type == msgpack::type::NEGATIVE_INTEGER && std::in_range<T>(in.via.i64))
            value = static_cast<T>(in.via.i64);
        else
            fail();
    }
    template <class E>
    void get_enum(const msgpack::object& in, E& value, E last) {
        std::underlying_type_t<E> number = 0;
        get_number(in, number);
        if (number > static_cast<std::underlying_type_t<E>>(last)) return fail();
        value = static_cast<E>(number);
    }

    const msgpack::object* next_;
    std::size_t first_;
    bool ok_ = true;
};

}  // namespace wq::net::messages
