// The shell script of master/*.sh, without its comments.
#pragma once

#include <string_view>

namespace wq::list_store {

extern const std::string_view master_helper;

}  // namespace wq::list_store
