// msgpack -> fields. If a value does not fit its field, the reader is not ok(); nothing throws.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "net/messages/fields.h"
#include "net/messages/msgpack_library.h"

namespace wq::net::messages {

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
