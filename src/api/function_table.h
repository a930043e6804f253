// Converts a program's typed functions to the table that a worker calls.
#pragma once

#include "engine/model/task.h"
#include "node/process/functions.h"
#include "work_queue/functions.h"

namespace wq::api {

// Every manager accepts all functions that can be registered.
static_assert(Functions::longest_name == engine::model::longest_feature &&
              Functions::most == engine::model::most_functions);

inline node::process::FunctionTable function_table(const Functions& functions) {
    node::process::FunctionTable table;
    for (const auto& [name, function] : functions.all())
        table.add(name, {function.call, function.call_index});
    return table;
}

}  // namespace wq::api
