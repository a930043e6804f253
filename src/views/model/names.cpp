#include "views/model/names.h"

namespace wq::views::model {

std::uint32_t Names::place_of(std::string_view name) {
    if (last_ < names_.size() && names_[last_] == name) return last_;  // as often
    const auto [at, is_new] = places_.try_emplace(std::string(name), names_.size());
    if (is_new) names_.emplace_back(name);
    return last_ = at->second;
}

}  // namespace wq::views::model
