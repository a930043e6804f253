// Columns of numbers as a page's columns.js reads them: of each number the difference from the one before,
// zigzag, 7 bits a byte, the lowest first; in base64. Zeros alone are an empty text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wq::views::web {

class NumberColumn {
  public:
    void add(std::int64_t value) {
        // By unsigned numbers: no file is so wrong that this has no value.
        const auto difference =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(last_));
        last_ = value;
        is_zero_ = is_zero_ && value == 0;
        auto rest = static_cast<std::uint64_t>(difference) << 1;
        if (difference < 0) rest = ~rest;
        for (; rest > 127; rest >>= 7) bytes_ += static_cast<char>(128 | (rest & 127));
        bytes_ += static_cast<char>(rest);
    }
    std::string base64() const;

  private:
    std::string bytes_;
    std::int64_t last_ = 0;
    bool is_zero_ = true;
};

}  // namespace wq::views::web
