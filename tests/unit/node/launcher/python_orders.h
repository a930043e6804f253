// Orders of calls of Python functions for tests: each evaluates an expression.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "node/process/order.h"

namespace wq::node::launcher::test {

// Of the `python3` in PATH.
inline const std::string& python_version() {
    static const std::string text = [] {
        std::array<char, 32> line{};
        FILE* const said = popen("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'", "r");
        if (said == nullptr || fgets(line.data(), line.size(), said) == nullptr) return std::string();
        pclose(said);
        return std::string(line.data(), std::string(line.data()).find('\n'));
    }();
    return text;
}

// eval(expression), pickled by hand in protocol 0. The expression has no line ends and no backslashes.
inline constexpr std::string_view packed_eval = "cbuiltins\neval\n.";
inline std::string packed(const std::string& expression) {
    return "((V" + expression + "\np0\ntp1\n(dp2\ntp3\n.";
}

// All lines but the last.
inline std::string first_lines(const std::string& given, const std::string& environment,
                               const std::string& method) {
    return python_version() + "\n\n" + environment + "\n" + method + "\n\n" +
           std::to_string(packed_eval.size()) + " " + std::to_string(given.size()) + "\n";
}

inline std::string python_arguments(const std::string& expression, const std::string& environment = "",
                                    const std::string& method = "fork") {
    const std::string given = packed(expression);
    return first_lines(given, environment, method) + "\n" + std::string(packed_eval) + given;
}

inline process::Order evaluation(std::uint64_t task, const std::string& expression,
                                 const std::string& method = "fork") {
    process::Order order;
    order.task = TaskId(task);
    order.give.cores = 1;
    order.call = process::Call{"python", python_arguments(expression, "", method)};
    return order;
}

}  // namespace wq::node::launcher::test
