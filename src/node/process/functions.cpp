#include "node/process/functions.h"

#include <algorithm>
#include <exception>

namespace wq::node::process {

namespace {

constexpr std::size_t longest_reason = 4096;
constexpr std::size_t names_told = 20;

// A reason is one line.
std::string one_line(std::string text) {
    if (text.size() > longest_reason) text.resize(longest_reason);
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
    return text;
}

CallEnd end_with(engine::model::Ending ending, int exit_code, std::string reason) {
    return {ending, exit_code, one_line(std::move(reason)), {}};
}

}  // namespace

CallEnd raised() {
    try {
        throw;
    } catch (const std::exception& error) {
        return end_with(engine::model::Ending::raised, 0, error.what());
    } catch (...) {
        return end_with(engine::model::Ending::raised, 0, "it threw what is no std::exception");
    }
}

CallEnd no_such_function(const FunctionTable& functions, const std::string& name) {
    std::string names;
    std::size_t told = 0;
    functions.for_each_name([&](const std::string& one) {
        if (++told <= names_told) names += (names.empty() ? "" : ", ") + one;
    });
    const std::string unknown = "the worker knows no function '" + name + "'; it knows ";
    if (names.empty())
        return end_with(engine::model::Ending::not_started, engine::model::exit_not_found,
                        unknown + "none: calls need workers of your program, which run wq::worker_main()");
    if (told > names_told) names += ", and " + std::to_string(told - names_told) + " more";
    return end_with(engine::model::Ending::not_started, engine::model::exit_not_found,
                    unknown + names + ": add() it to the worker's functions");
}

CallEnd forks_no_calls() {
    return end_with(
        engine::model::Ending::not_started, engine::model::exit_cannot_execute,
        "this rank forks no calls, for its program called MPI_Init before it made the MpiSession: "
        "choose CallMode::thread or direct, or make the MpiSession first");
}

CallEnd takes_no_index(const std::string& name) {
    return end_with(engine::model::Ending::raised, 0, "function '" + name + "' does not take one integer");
}

CallEnd run_call(const FunctionTable& functions, const Call& call) {
    const Function* const function = functions.find(call.function);
    if (function == nullptr || !function->call) return no_such_function(functions, call.function);
    try {
        CallEnd end;
        end.result = function->call(call.arguments);
        if (end.result.size() <= most_result_bytes) return end;
        return end_with(engine::model::Ending::raised, 0,
                        "its result has " + std::to_string(end.result.size()) + " bytes, and may have " +
                            std::to_string(most_result_bytes));
    } catch (...) {
        return raised();
    }
}

}  // namespace wq::node::process
