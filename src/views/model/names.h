// Names and their places, in the order of their first use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wq::views::model {

class Names {
  public:
    explicit Names(std::vector<std::string>& names) : names_(names) {}
    std::uint32_t place_of(std::string_view name);

  private:
    std::vector<std::string>& names_;
    std::unordered_map<std::string, std::uint32_t> places_;
    std::uint32_t last_ = 0;
};

}  // namespace wq::views::model
