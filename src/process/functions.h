// Functions that a worker calls by name. Manager and worker are told the same names; what lies behind them
// only the worker needs to know.
//
// Arguments and results are msgpack, so that this room knows no types: the typed face of it is
// work_queue/functions.h. A function that throws ends its call as Ending::raised with what() as its reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace wq::process {

struct Function {
    // Takes an array of arguments, gives the result. Throws what the function throws, and
    // std::invalid_argument where the arguments are not the function's.
    std::function<std::string(std::string_view arguments)> call;
    // The same for a single integer, without packing anything; the result is dropped. Empty: the function
    // does not take one integer.
    std::function<void(std::int64_t index)> call_index;
};

// Of one of them, by name.
struct Call {
    std::string function;
    std::string arguments;  // msgpack: an array of them
};

class FunctionTable {
  public:
    // A name that is there already is replaced.
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

}  // namespace wq::process
