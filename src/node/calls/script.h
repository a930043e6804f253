// The script of an interpreter (interpreter.py) and unpack.sh, which the build makes a part of the program: a
// worker of one file needs no other.
#pragma once

#include <string_view>

namespace wq::node::calls {

extern const std::string_view script;
extern const std::string_view unpack;

}  // namespace wq::node::calls
