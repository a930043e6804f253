#include "files/trees/key_memo.h"

#include <utility>

namespace wq::files::trees {

namespace {
constexpr std::size_t most_known = 100'000;
}  // namespace

std::optional<Content> KeyMemo::known(const std::string& name, const Fingerprint& now) const {
    const auto found = known_.find(name);
    if (found == known_.end() || found->second.print != now.print) return std::nullopt;
    return found->second.content;
}

void KeyMemo::keep(const std::string& name, const Fingerprint& before, Content content) {
    if (!before.settled()) return;
    if (known_.size() >= most_known) known_.clear();
    known_[name] = {before.print, std::move(content)};
}

}  // namespace wq::files::trees
