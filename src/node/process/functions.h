// The table of functions that a worker calls by name. The manager and the worker know the same names; only
// the worker needs the functions.
//
// Arguments and results are msgpack, so that this folder needs no types; the typed interface is
// work_queue/functions.h. A function that throws ends its call as Ending::raised, with what() as the reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace wq::node::process {

struct Function {
    // Takes an array of arguments and returns the result. Throws what the function throws, and
    // std::invalid_argument if the arguments do not match the function's.
    std::function<std::string(std::string_view arguments)> call;
    // The same for a single integer, without packing; the result is dropped. Empty if the function does not
    // take one integer.
    std::function<void(std::int64_t index)> call_index;
};

// A call of one of the functions, by name.
struct Call {
    std::string function;
    std::string arguments;  // msgpack array
};

class FunctionTable {
  public:
    // Replaces an existing function of that name.
    void add(std::string name, Function function) {
        functions_.insert_or_assign(std::move(name), std::move(function));
    }
    const Function* find(std::string_view name) const {
        const auto found = functions_.find(name);
        return found == functions_.end() ? nullptr : &found->second;
    }
    bool empty() const { return functions_.empty(); }
    template <class F>
    void for_each_name(F&& visit) const {
        for (const auto& [name, function] : functions_) visit(name);
    }

  private:
    std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace wq::node::process
