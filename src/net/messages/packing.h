// Fields -> msgpack.
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
#include "net/messages/fields.h"
#include "net/messages/msgpack_library.h"

namespace wq::net::messages {

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
    void get(const msgpack::object& in, engine::model::UsagePoint& value) {
        nested(in, value);
        value.at_us = std::clamp<std::int64_t>(value.at_us, 0, engine::model::most_measured);
    }
    void get(const msgpack::object& in, engine::model::Ending& value) {
        get_enum(in, value, engine::model::Ending(engine::model::ending_count - 1));
    }
    void get(const msgpack::object& in, engine::model::CallMode& value) {
        get_enum(in, value, engine::model::CallMode::direct);
    }
    void get(const msgpack::object& in, engine::model::Rest& value) {
        get_enum(in, value, engine::model::Rest::whole);
    }
    void get(const msgpack::object& in, InputKind& value) { get_enum(in, value, InputKind::command); }
    void get(const msgpack::object& in, StatusOf& value) { get_enum(in, value, StatusOf::categories); }
    template <class T>
    void get(const msgpack::object& in, T& value) {
        if constexpr (std::is_integral_v<T>)
            get_number(in, value);
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
