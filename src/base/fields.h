// Encodes and decodes values by their lists of fields. A list stands once, in the namespace of its type, and
// serves both directions:
//
//     template <class V>
//     void fields(Refused& value, V& visit) {
//         visit(value.version, value.why);
//     }
//
// A list may check what it has read (`visit.require(first < end)`), and change the value only if V::reads.
// An enumeration names its last value in a function last_of(), so that unknown ones are refused. A type whose
// bytes follow no list has put(ByteWriter&, const T&) and get(ByteReader&, T&) in its namespace instead.
//
// The bytes: bool, std::uint8_t and enumerations take one; unsigned integers are varints, signed ones zigzag
// varints; double takes eight; strings are blobs. A vector is its size and its elements, an optional a bool
// and, if true, the value. An Interval is both ends, an IntervalSet the gap before and the size of each
// range. Ids and times are their numbers. Arrays, pairs and types with a list are their parts.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/interval_set.h"

namespace wq {

class FieldWriter {
  public:
    static constexpr bool reads = false;
    explicit FieldWriter(ByteWriter& out) : out_(out) {}

    template <class... F>
    void operator()(const F&... field) {
        (write(field), ...);
    }
    void require(bool) {}
    void leave_rest() {}
    // A vector whose elements have no list of their own.
    template <class Values, class Visit>
    void each(Values& values, Visit&& visit_element) {
        out_.u64(values.size());
        for (auto& value : values) visit_element(value);
    }

  private:
    template <class T>
    void write(const T& value) {
        if constexpr (std::is_same_v<T, bool>)
            out_.boolean(value);
        else if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::uint8_t>)
            out_.u8(static_cast<std::uint8_t>(value));
        else if constexpr (std::is_floating_point_v<T>)
            out_.f64(value);
        else if constexpr (std::is_unsigned_v<T>)
            out_.u64(value);
        else if constexpr (std::is_integral_v<T>)
            out_.i64(value);
        else if constexpr (requires { put(out_, value); })
            put(out_, value);
        else if constexpr (!std::is_empty_v<T>)
            fields(const_cast<T&>(value), *this);  // lists take no const; this visitor changes nothing
    }
    void write(const std::string& value) { out_.blob(value); }
    void write(std::string_view value) { out_.blob(value); }
    void write(const Interval& range) { (*this)(range.first, range.end); }
    void write(const IntervalSet& set) {
        out_.u64(set.ranges());
        std::uint64_t last = 0;
        set.for_each([&](const Interval& range) {
            (*this)(range.first - last, range.size());
            last = range.end;
        });
    }
    template <class Tag, class Rep>
    void write(Id<Tag, Rep> id) {
        out_.u64(id.value());
    }
    template <class Rep, class Period>
    void write(std::chrono::duration<Rep, Period> time) {
        out_.i64(time.count());
    }
    template <class Clock, class Duration>
    void write(std::chrono::time_point<Clock, Duration> time) {
        write(time.time_since_epoch());
    }
    template <class T>
    void write(const std::optional<T>& value) {
        out_.boolean(value.has_value());
        if (value) write(*value);
    }
    template <class A, class B>
    void write(const std::pair<A, B>& value) {
        (*this)(value.first, value.second);
    }
    template <class T, std::size_t size>
    void write(const std::array<T, size>& values) {
        for (const T& value : values) write(value);
    }
    template <class T>
    void write(const std::vector<T>& values) {
        each(values, [this](const T& value) { write(value); });
    }

    ByteWriter& out_;
};

// A value that does not fit its field leaves the ByteReader not ok(); nothing throws. Memory is at most some
// times the size of the bytes.
class FieldReader {
  public:
    static constexpr bool reads = true;
    explicit FieldReader(ByteReader& in) : in_(in) {}

    template <class... F>
    void operator()(F&... field) {
        (read(field), ...);
    }
    void require(bool holds) {
        if (!holds) in_.fail();
    }
    // Skips all bytes that follow.
    void leave_rest() { in_.raw(in_.rest().size()); }
    template <class Values, class Visit>
    void each(Values& values, Visit&& visit_element) {
        values.clear();
        for (std::uint64_t left = in_.count(); left > 0 && in_.ok(); --left)
            visit_element(values.emplace_back());
    }

  private:
    template <class T>
    void read(T& value) {
        if constexpr (std::is_same_v<T, bool>)
            value = in_.boolean();
        else if constexpr (std::is_enum_v<T>)
            read_enum(value);
        else if constexpr (std::is_same_v<T, std::uint8_t>)
            value = in_.u8();
        else if constexpr (std::is_floating_point_v<T>)
            value = in_.f64();
        else if constexpr (std::is_unsigned_v<T>)
            take(in_.u64(), value);
        else if constexpr (std::is_integral_v<T>)
            take(in_.i64(), value);
        else if constexpr (requires { get(in_, value); })
            get(in_, value);
        else if constexpr (!std::is_empty_v<T>)
            fields(value, *this);
    }
    template <class T, class Number>
    void take(Number number, T& value) {
        require(std::in_range<T>(number));
        value = in_.ok() ? static_cast<T>(number) : T{};
    }
    template <class E>
    void read_enum(E& value) {
        const std::uint8_t number = in_.u8();
        require(number <= static_cast<std::uint8_t>(last_of(E{})));
        if (in_.ok()) value = static_cast<E>(number);
    }
    void read(std::string& value) { value = in_.blob(); }
    void read(Interval& range) {
        (*this)(range.first, range.end);
        require(range.first < range.end);
    }
    void read(IntervalSet& set) {
        set = {};
        std::uint64_t last = 0;
        for (std::uint64_t left = in_.count(2); left > 0 && in_.ok(); --left) {
            const std::uint64_t first = last + in_.u64();
            const std::uint64_t end = first + in_.u64();
            require(first >= last && end > first);
            if (in_.ok()) set.insert(Interval{first, end});
            last = end;
        }
    }
    template <class Tag, class Rep>
    void read(Id<Tag, Rep>& id) {
        Rep number{};
        read(number);
        id = Id<Tag, Rep>(number);
    }
    template <class Rep, class Period>
    void read(std::chrono::duration<Rep, Period>& time) {
        time = std::chrono::duration<Rep, Period>(in_.i64());
    }
    template <class Clock, class Duration>
    void read(std::chrono::time_point<Clock, Duration>& time) {
        time = std::chrono::time_point<Clock, Duration>(Duration(in_.i64()));
    }
    template <class T>
    void read(std::optional<T>& value) {
        value.reset();
        if (in_.boolean()) read(value.emplace());
    }
    template <class A, class B>
    void read(std::pair<A, B>& value) {
        (*this)(value.first, value.second);
    }
    template <class T, std::size_t size>
    void read(std::array<T, size>& values) {
        for (T& value : values) read(value);
    }
    template <class T>
    void read(std::vector<T>& values) {
        each(values, [this](T& value) { read(value); });
    }

    ByteReader& in_;
};

template <class... F>
void put_fields(ByteWriter& out, const F&... field) {
    FieldWriter write(out);
    write(field...);
}
template <class... F>
std::string bytes_of(const F&... field) {
    ByteWriter out;
    put_fields(out, field...);
    return out.take();
}

template <class... F>
void get_fields(ByteReader& in, F&... field) {
    FieldReader read(in);
    read(field...);
}
// Whether the fields are all of the bytes.
template <class... F>
bool fields_are(std::string_view bytes, F&... field) {
    ByteReader in(bytes);
    get_fields(in, field...);
    return in.at_end();
}

// A message is one of several types: the number of the type, in one byte, and the fields.
template <class... Types>
void put_message(ByteWriter& out, const std::variant<Types...>& message) {
    static_assert(sizeof...(Types) <= 256);
    out.u8(static_cast<std::uint8_t>(message.index()));
    std::visit([&](const auto& known) { put_fields(out, known); }, message);
}
template <class... Types>
void get_message(ByteReader& in, std::variant<Types...>& message) {
    std::size_t kind = in.u8();
    const auto read_if = [&]<class Type>(std::in_place_type_t<Type>) {
        if (kind-- == 0) get_fields(in, message.template emplace<Type>());
    };
    if (kind >= sizeof...(Types)) return in.fail();
    if (in.ok()) (read_if(std::in_place_type<Types>), ...);
}
// nullopt: the bytes are no message.
template <class Message>
std::optional<Message> message_in(std::string_view bytes) {
    ByteReader in(bytes);
    std::optional<Message> message(std::in_place);
    get_message(in, *message);
    if (!in.at_end()) message.reset();
    return message;
}

}  // namespace wq
