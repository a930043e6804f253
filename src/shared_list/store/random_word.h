// Names that nobody else chooses, for logs and answers.
#pragma once

#include <string>

namespace wq::shared_list::store {

std::string random_word();  // 16 hexadecimal digits

}  // namespace wq::shared_list::store
