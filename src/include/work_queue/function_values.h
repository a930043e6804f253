// Converts arguments and results to and from msgpack, and describes them in messages. Part of functions.h; do
// not include it directly.
#pragma once

#include <cxxabi.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#if !__has_include(<msgpack.hpp>)
#error "functions need the headers of msgpack-cxx (Debian: libmsgpack-cxx-dev)"
#endif
#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif
#include <msgpack.hpp>

namespace wq::detail {

struct StringSink {
    std::string& bytes;
    void write(const char* data, std::size_t size) { bytes.append(data, size); }
};

template <class T>
std::string pack_value(const T& value) {
    std::string bytes;
    StringSink sink{bytes};
    msgpack::pack(sink, value);
    return bytes;
}

// ---- names of types, for messages ----

template <class T>
struct TypeText {
    static std::string text() {
        if constexpr (std::is_same_v<T, bool>) {
            return "bool";
        } else if constexpr (std::is_integral_v<T>) {
            return "integer";
        } else if constexpr (std::is_floating_point_v<T>) {
            return "number";
        } else if constexpr (std::is_convertible_v<T, std::string_view>) {
            return "string";
        } else {
            const char* const mangled = typeid(T).name();
            const std::unique_ptr<char, void (*)(void*)> name(
                abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), std::free);
            return name ? name.get() : mangled;
        }
    }
};
template <class T>
std::string type_text() {
    return TypeText<std::decay_t<T>>::text();
}

template <class... T>
std::string type_texts() {
    std::string list;
    ((list += (list.empty() ? "" : ", ") + type_text<T>()), ...);
    return "(" + list + ")";
}

template <class T, class Allocator>
struct TypeText<std::vector<T, Allocator>> {
    static std::string text() { return "array of " + type_text<T>(); }
};
template <class T, std::size_t Size>
struct TypeText<std::array<T, Size>> {
    static std::string text() { return "array of " + std::to_string(Size) + " " + type_text<T>(); }
};
template <class T>
struct TypeText<std::optional<T>> {
    static std::string text() { return type_text<T>() + " or nil"; }
};
template <class... T>
struct TypeText<std::tuple<T...>> {
    static std::string text() { return type_texts<T...>(); }
};
template <class A, class B>
struct TypeText<std::pair<A, B>> {
    static std::string text() { return type_texts<A, B>(); }
};
template <class Key, class T, class... Rest>
struct TypeText<std::map<Key, T, Rest...>> {
    static std::string text() { return "map of " + type_text<Key>() + " to " + type_text<T>(); }
};
template <class Key, class T, class... Rest>
struct TypeText<std::unordered_map<Key, T, Rest...>> {
    static std::string text() { return "map of " + type_text<Key>() + " to " + type_text<T>(); }
};

// Describes a value: `"a text" of 200 bytes`, 42, an array of 3.
inline std::string text(const msgpack::object& value) {
    constexpr std::size_t shown = 40;
    switch (value.type) {
        case msgpack::type::NIL:
            return "nil";
        case msgpack::type::BOOLEAN:
            return value.via.boolean ? "true" : "false";
        case msgpack::type::POSITIVE_INTEGER:
            return std::to_string(value.via.u64);
        case msgpack::type::NEGATIVE_INTEGER:
            return std::to_string(value.via.i64);
        case msgpack::type::FLOAT32:
        case msgpack::type::FLOAT64:
            return std::to_string(value.via.f64);
        case msgpack::type::STR: {
            const std::string_view all(value.via.str.ptr, value.via.str.size);
            const std::string begin = "\"" + std::string(all.substr(0, shown)) + "\"";
            return all.size() <= shown ? begin : begin + "... of " + std::to_string(all.size()) + " bytes";
        }
        case msgpack::type::BIN:
            return std::to_string(value.via.bin.size) + " bytes";
        case msgpack::type::ARRAY:
            return "an array of " + std::to_string(value.via.array.size);
        case msgpack::type::MAP:
            return "a map of " + std::to_string(value.via.map.size);
        case msgpack::type::EXT:
            return "an extension of msgpack";
    }
    return "unknown";
}

// ---- from bytes ----

// Nothing if `bytes` is not exactly one value. Its strings point into `bytes`.
inline std::optional<msgpack::object_handle> unpack(std::string_view bytes) {
    constexpr std::size_t deepest = 256;
    const auto stay = [](msgpack::type::object_type, std::size_t, void*) { return true; };
    try {
        // Parse once without allocating: an array that is only announced could request any amount of memory.
        msgpack::null_visitor visitor;
        std::size_t end = 0;
        if (!msgpack::parse(bytes.data(), bytes.size(), end, visitor) || end != bytes.size())
            return std::nullopt;
        return msgpack::unpack(bytes.data(), bytes.size(), stay, nullptr,
                               msgpack::unpack_limit(bytes.size(), bytes.size(), bytes.size(), bytes.size(),
                                                     bytes.size(), deepest));
    } catch (const std::exception&) {  // incomplete, or too deep
        return std::nullopt;
    }
}

template <class... Parameters>
inline constexpr bool takes_one_integer = false;
template <class Parameter>
inline constexpr bool takes_one_integer<Parameter> =
    std::is_integral_v<std::decay_t<Parameter>> && !std::is_same_v<std::decay_t<Parameter>, bool> &&
    !std::is_same_v<std::decay_t<Parameter>, char> && !std::is_same_v<std::decay_t<Parameter>, wchar_t>;

template <class... Values>
struct Arguments {
    msgpack::object_handle held;  // string views among them point into it
    std::tuple<Values...> values;
};

template <class Value>
void unpack_argument(const std::string& name, std::size_t place, const msgpack::object& from, Value& to) {
    try {
        from.convert(to);
    } catch (const std::exception&) {
        throw std::invalid_argument("argument " + std::to_string(place) + " of function '" + name +
                                    "' must be " + type_text<Value>() + ", but is " + text(from));
    }
}

template <class... Values>
Arguments<Values...> unpack_arguments(const std::string& name, std::string_view bytes) {
    auto handle = unpack(bytes);
    const auto refuse = [&](const std::string& got) {
        throw std::invalid_argument("function '" + name + "' takes " + type_texts<Values...>() +
                                    ", and got " + got);
    };
    if (!handle || handle->get().type != msgpack::type::ARRAY)
        refuse("something other than a msgpack array of arguments");
    const msgpack::object_array& array = handle->get().via.array;
    if (array.size != sizeof...(Values))
        refuse(std::to_string(array.size) + (array.size == 1 ? " argument" : " arguments"));
    Arguments<Values...> arguments{std::move(*handle), {}};
    std::size_t place = 0;
    std::apply(
        [&](auto&... value) { ((unpack_argument(name, place + 1, array.ptr[place], value), ++place), ...); },
        arguments.values);
    return arguments;
}

}  // namespace wq::detail
