#include "shared_list/store/random_word.h"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/random_bits.h"

namespace wq::shared_list::store {

std::string random_word() {
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64, random_bits());
    return text.data();
}

}  // namespace wq::shared_list::store
