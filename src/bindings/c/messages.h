// Messages of the C functions on stderr: one line each, starting with the function's name.
#pragma once

#include <string>

namespace wq::bindings::c {

void complain(const char* function, const char* what) noexcept;
void complain(const char* function, const std::string& what) noexcept;

// "FUNCTION: no effect: WHAT", once per process and function.
void no_effect(const char* function, const char* what);

}  // namespace wq::bindings::c
