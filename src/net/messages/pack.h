// Fields -> msgpack.
#pragma once

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

}  // namespace wq::net::messages
