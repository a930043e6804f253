// Errors of the inner rooms as what constructors of this library throw.
#pragma once

#include <system_error>
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

// Throws SetupError also for what inner rooms throw where the environment is broken.
template <class Step>
auto with_setup_errors(Step&& step) {
    try {
        return step();
    } catch (const Failure& failure) {
        throw setup_error(failure.error);
    } catch (const std::system_error& error) {
        throw SetupError(error.what(), to_int(ExitCode::unreachable));
    }
}

}  // namespace wq::api
