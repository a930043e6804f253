#include "base/environment_changes.h"

namespace wq {

void put(ByteWriter& out, const EnvironmentChanges& changes) {
    out.u64(changes.size());
    for (const auto& [name, value] : changes) {
        out.blob(name);
        out.boolean(value.has_value());
        if (value) out.blob(*value);
    }
}

void get(ByteReader& in, EnvironmentChanges& changes) {
    changes.clear();
    const std::uint64_t count = in.count(2);
    for (std::uint64_t index = 0; index < count && in.ok(); ++index) {
        std::string name(in.blob());
        std::optional<std::string> value;
        if (in.boolean()) value = in.blob();
        changes.emplace_back(std::move(name), std::move(value));
    }
}

}  // namespace wq
