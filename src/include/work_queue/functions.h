// Functions that workers call by name, with typed arguments and results.
//
//   wq::Functions functions;
//   functions.add("area", [](double width, double height) { return width * height; });
//
// Only workers need the functions; the manager calls them by name. Arguments and results are sent as msgpack.
// Supported: integers, floating point, bool, std::string, std::vector, std::array, std::map,
// std::unordered_map, std::set, std::pair, std::tuple, std::optional, std::variant of msgpack's kinds, and
// your types with MSGPACK_DEFINE(members...). Functions take arguments by value or const reference. A result
// has at most 960 MiB.
// Needs the headers of msgpack-cxx.
#pragma once

#if __cplusplus < 202002L
#error "functions need C++20: compile with -std=c++20"
#endif

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "work_queue/function_values.h"

namespace [[gnu::visibility("default")]] wq {

// One registered function.
struct RegisteredFunction {
    // Takes a msgpack array of arguments and returns the result as msgpack (empty for void). Throws what the
    // function throws, and std::invalid_argument for wrong arguments.
    std::function<std::string(std::string_view arguments)> call;
    // Calls the function with one integer, without packing, and drops the result. Empty if the function does
    // not take exactly one integer; such a function cannot be used in ranges.
    std::function<void(std::int64_t index)> call_index;
};

// The functions of a worker. Fill it before workers start (fork mode: before the program's launcher starts),
// and do not change it afterwards.
class Functions {
  public:
    // Adds or replaces a callable with known parameters: a function, a lambda without `auto` parameters, an
    // object with one operator(), a std::function. `thread` mode calls it on several threads at once. Throws
    // std::length_error if the name is longer than 255 bytes or there are more than 10,000 functions.
    template <class F>
    void add(std::string name, F function) {
        add_wrapped(std::move(name), std::function(std::move(function)));
    }
    // The same with an explicit signature: add_as<int(int, int)>("max", [](auto a, auto b) { ... }).
    template <class Signature, class F>
    void add_as(std::string name, F function) {
        add_wrapped(std::move(name), std::function<Signature>(std::move(function)));
    }

    const std::map<std::string, RegisteredFunction>& all() const { return functions_; }

    static constexpr std::size_t longest_name = 255;
    static constexpr std::size_t most = 10'000;

  private:
    template <class Result, class... Parameters>
    void add_wrapped(std::string name, std::function<Result(Parameters...)> function);

    std::map<std::string, RegisteredFunction> functions_;
};

// Packs the arguments of a call as a msgpack array.
template <class... Arguments>
std::string pack_arguments(const Arguments&... arguments) {
    std::string bytes;
    detail::StringSink sink{bytes};
    msgpack::packer<detail::StringSink> packer(sink);
    packer.pack_array(static_cast<std::uint32_t>(sizeof...(Arguments)));
    (packer.pack(arguments), ...);
    return bytes;
}

// The bytes are not a result of the requested type.
class ResultError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Returns the result of a successful call. Throws ResultError if it has another type. `void` accepts any.
template <class T>
T unpack_result(std::string_view bytes) {
    if constexpr (!std::is_void_v<T>) {
        const std::string wanted = detail::type_text<T>();
        if (bytes.empty()) throw ResultError("the result must be " + wanted + ", but the call returned none");
        const auto value = detail::unpack(bytes);
        if (!value) throw ResultError("the result must be " + wanted + ", but is not msgpack");
        try {
            return value->get().as<T>();
        } catch (const std::exception&) {
            throw ResultError("the result must be " + wanted + ", but is " + detail::text(value->get()));
        }
    }
}

// ---- how it works ----

template <class Result, class... Parameters>
void Functions::add_wrapped(std::string name, std::function<Result(Parameters...)> function) {
    static_assert((!(std::is_lvalue_reference_v<Parameters> &&
                     !std::is_const_v<std::remove_reference_t<Parameters>>)&&...),
                  "arguments are copies: take them by value or by const reference");
    if (name.size() > longest_name)
        throw std::length_error("function '" + name.substr(0, 40) + "...': its name has " +
                                std::to_string(name.size()) + " bytes; the maximum is " +
                                std::to_string(longest_name));
    if (functions_.size() >= most && functions_.count(name) == 0)
        throw std::length_error("function '" + name + "': there are " + std::to_string(most) +
                                " functions already, the maximum");
    RegisteredFunction registered;
    registered.call = [name, function](std::string_view arguments) {
        auto values = detail::unpack_arguments<std::decay_t<Parameters>...>(name, arguments);
        return std::apply(
            [&](auto&... value) {
                if constexpr (std::is_void_v<Result>) {
                    function(static_cast<Parameters&&>(value)...);
                    return std::string();
                } else {
                    return detail::pack_value(function(static_cast<Parameters&&>(value)...));
                }
            },
            values.values);
    };
    if constexpr (detail::takes_one_integer<Parameters...>) {
        using Index = std::decay_t<std::tuple_element_t<0, std::tuple<Parameters...>>>;
        registered.call_index = [name, function](std::int64_t index) {
            if (!std::in_range<Index>(index))
                throw std::invalid_argument("function '" + name + "': index " + std::to_string(index) +
                                            " is out of the range of its parameter");
            static_cast<void>(function(static_cast<Index>(index)));
        };
    }
    functions_.insert_or_assign(std::move(name), std::move(registered));
}

}  // namespace gnu::visibility("default")]]wq
