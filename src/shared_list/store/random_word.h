// Names that nobody else chooses, for logs and answers.
#pragma once

#include <string>

namespace wq::list_store {

std::string random_word();  // 16 hexadecimal digits

}  // namespace wq::list_store
