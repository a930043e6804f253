// Typed calls and results of Task. Needs the headers of msgpack-cxx.
//
//   manager.submit(wq::Task::call("area", 2.0, 3.5));
//   ...
//   if (task->ok()) sum += task->result_as<double>();
#pragma once

#include <string>
#include <utility>

#include "work_queue/functions.h"
#include "work_queue/task.h"

namespace [[gnu::visibility("default")]] wq {

template <class... Arguments>
Task Task::call(std::string function, const Arguments&... arguments) {
    return packed_call(std::move(function), pack_arguments(arguments...));
}

template <class T>
T Task::result_as() const {
    return unpack_result<T>(packed_result());
}

}  // namespace gnu::visibility("default")]]wq
