#include "views/web/columns.h"

#include <cstddef>

namespace wq::views::web {

std::string NumberColumn::base64() const {
    if (is_zero_) return {};
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve(bytes_.size() / 3 * 4 + 4);
    for (std::size_t i = 0; i < bytes_.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = i; k < i + 3; ++k)
            group = group << 8 | (k < bytes_.size() ? static_cast<unsigned char>(bytes_[k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            out += i + k > bytes_.size() ? '=' : letters[group >> (18 - 6 * k) & 63];
    }
    return out;
}

}  // namespace wq::views::web
