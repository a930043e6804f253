// The text of interpreter.py, which the build makes a part of the program: a worker of one file needs no
// other.
#pragma once

namespace wq::interpreters {

extern const char* const script;

}  // namespace wq::interpreters
