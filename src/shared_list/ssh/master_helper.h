// The shell script of master/*.sh, without its comments.
#pragma once

#include <string_view>

namespace wq::shared_list::ssh {

extern const std::string_view master_helper;

}  // namespace wq::shared_list::ssh
