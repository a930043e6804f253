#include "programs/binding_word.h"

#include "base/units.h"

namespace wq::programs {

namespace {
constexpr std::int64_t most_threads = 1024;  // per core
}

Result<node::machine::Binding> parse_binding(const std::string& word) {
    using node::machine::Binding;
    for (const Binding binding : {Binding::none, Binding::core, Binding::node})
        if (word == binding_word(binding)) return binding;
    return Error{ExitCode::usage, quote_for_message(word) + " is not one of none, core, numa"};
}

const char* binding_word(node::machine::Binding binding) {
    switch (binding) {
        case node::machine::Binding::core:
            return "core";
        case node::machine::Binding::node:
            return "numa";
        default:
            return "none";
    }
}

Result<std::int64_t> parse_threads(const std::string& word) {
    return parse_count(word, 1, most_threads);
}

}  // namespace wq::programs
