#include "functions/pool/fork_request.h"

#include <dlfcn.h>

#include <cstring>

namespace wq::functions::pool {

namespace {

const void* library_of(const FunctionPlace& function) {
    Dl_info facts{};
    if (dladdr(reinterpret_cast<const void*>(function.run), &facts) == 0) return nullptr;
    return facts.dli_fbase;
}

}  // namespace

FunctionPlace FunctionPlace::of(const detail::JobFunction& function) {
    FunctionPlace place;
    place.run = function.run;
    place.callable = function.callable;
    place.bytes = function.bytes;
    std::memcpy(place.copy.data(), function.callable, function.bytes);
    place.library = library_of(place);
    return place;
}

bool FunctionPlace::is_here() const {
    return library_of(*this) == library;
}

}  // namespace wq::functions::pool
