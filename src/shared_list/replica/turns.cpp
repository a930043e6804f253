#include "shared_list/replica/turns.h"

#include <algorithm>

namespace wq::shared_list::replica {

namespace {

// Workers with equal ways to the master are refused often, too, but not for long.
constexpr int many_refusals = 10;
constexpr Duration long_time = std::chrono::seconds(1);

}  // namespace

void Turns::asked(std::string_view name) {
    if (std::ranges::find(names_, name) == names_.end()) names_.emplace_back(name);
}

void Turns::made(std::string_view token) {
    if (names_.empty()) return;
    const std::string_view name = token.substr(0, token.find('.'));
    while (!names_.empty()) {
        const bool is_last = names_.front() == name;
        names_.pop_front();
        ++first_;
        if (is_last) break;
    }
}

std::size_t Turns::before(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

bool Tries::refused(Instant now) {
    if (++refused_ < many_refusals || now - since_ < long_time) return false;
    refused_ = 0;
    since_ = now;
    ++turns_;
    return true;
}

}  // namespace wq::shared_list::replica
