#include "records/journal/ask_ids.h"

namespace wq::records::journal {

AskIds::Known AskIds::id_of(const engine::model::Needs& needs, const std::vector<std::string>& features) {
    const std::pair key(needs, features);
    if (const auto known = ids_.find(key); known != ids_.end()) return {known->second, false};
    const AskId next(static_cast<std::uint32_t>(ids_.size() + 1));
    if (next == further_ask) return further();
    ids_.emplace(key, next);
    return {next, true};
}

AskIds::Known AskIds::further() {
    return {further_ask, !std::exchange(has_further_, true)};
}

}  // namespace wq::records::journal
