// Functions that workers call by name, with typed arguments and results.
//
//   wq::Functions functions;
//   functions.add("area", [](double width, double height) { return width * height; });
//
// Manager and workers register the same names; what lies behind them only a worker needs to know. Arguments
// and results travel as msgpack: integers, floating point, bool, std::string, std::vector, std::array,
// std::map, std::unordered_map, std::set, std::pair, std::tuple, std::optional, std::variant of msgpack's
// kinds, and types of your own with MSGPACK_DEFINE(members...). Arguments are copies: a function takes them
// by value or by const reference. A result may have 960 MiB.
//
// Needs msgpack-cxx; it compiles alone.
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

// One function as the registry keeps it.
struct RegisteredFunction {
    // Takes a msgpack array of arguments, gives the result as msgpack (nothing at all for void). Throws what
    // the function throws, and std::invalid_argument, naming the function, what it takes and what came, where
    // the arguments are not its own.
    std::function<std::string(std::string_view arguments)> call;
    // The same for a single integer, without packing anything; the result is dropped. Empty: the function
    // does not take one integer, so no index range can be submitted of it.
    std::function<void(std::int64_t index)> call_index;
};

// A registry. It is filled before workers start (fork mode: before the program's launcher does), and only
// read after that.
class Functions {
  public:
    // Any callable whose parameters can be told: a function, a lambda without `auto` parameters, an object
    // with one operator(), a std::function. In `thread` mode it is called on several threads at once. A name
    // that is there already is replaced. Throws std::length_error for a name of more than 255 bytes, and for
    // more than 10,000 functions: no manager takes a worker with such.
    template <class F>
    void add(std::string name, F function) {
        add_wrapped(std::move(name), std::function(std::move(function)));
    }
    // The same where they cannot be told: add_as<int(int, int)>("max", [](auto a, auto b) { ... }).
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

// What a call is submitted with: a msgpack array of the arguments.
template <class... Arguments>
std::string pack_arguments(const Arguments&... arguments) {
    std::string bytes;
    detail::StringSink sink{bytes};
    msgpack::packer<detail::StringSink> packer(sink);
    packer.pack_array(static_cast<std::uint32_t>(sizeof...(Arguments)));
    (packer.pack(arguments), ...);
    return bytes;
}

// Bytes that are no result of the wanted type.
class ResultError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The result of a call that succeeded. Throws ResultError, which says what was wanted and what came. Void
// takes any.
template <class T>
T unpack_result(std::string_view bytes) {
    if constexpr (!std::is_void_v<T>) {
        const std::string wanted = detail::type_text<T>();
        if (bytes.empty()) throw ResultError("the result is to be " + wanted + ", and the call gave none");
        const auto value = detail::unpack(bytes);
        if (!value) throw ResultError("the result is to be " + wanted + ", and is no msgpack");
        try {
            return value->get().as<T>();
        } catch (const std::exception&) {
            throw ResultError("the result is to be " + wanted + ", and is " + detail::text(value->get()));
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
                                std::to_string(name.size()) + " bytes, of at most " +
                                std::to_string(longest_name));
    if (functions_.size() >= most && functions_.count(name) == 0)
        throw std::length_error("function '" + name + "': there are " + std::to_string(most) +
                                " functions already, which is the most");
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

}  // namespace wq
