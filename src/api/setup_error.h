// Errors of the inner rooms as what constructors of this library throw.
#pragma once

#include <utility>

#include "base/result.h"
#include "work_queue/error.h"

namespace wq::api {

inline SetupError setup_error(const Error& error) {
    return SetupError(error.message, to_int(error.code));
}

template <class T>
T checked(Result<T> result) {
    if (!result) throw setup_error(result.error());
    return std::move(*result);
}

}  // namespace wq::api
