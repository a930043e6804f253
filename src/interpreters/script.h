// The script of an interpreter (interpreter.py) and unpack.sh, which the build makes a part of the program: a
// worker of one file needs no other.
#pragma once

namespace wq::interpreters {

extern const char* const script;
extern const char* const unpack;

}  // namespace wq::interpreters
