#include "slices/sources/h5_name.h"

#include <algorithm>
#include <array>

namespace wq::slices::sources {

namespace {

constexpr std::array<std::string_view, 7> suffixes{".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".mat"};

bool has_suffix(std::string_view file) {
    return std::any_of(suffixes.begin(), suffixes.end(),
                       [&](std::string_view suffix) { return file.ends_with(suffix); });
}

bool separates(std::string_view name, std::size_t colon) {
    return colon > 0 && name[colon - 1] != '/' && !name.substr(colon + 1).starts_with("//");
}

}  // namespace

std::optional<H5Name> split_h5_name(std::string_view name) {
    std::size_t chosen = std::string_view::npos;
    for (std::size_t at = name.find(":/"); at != std::string_view::npos; at = name.find(":/", at + 1)) {
        if (!separates(name, at)) continue;
        const bool likely = has_suffix(name.substr(0, at));
        if (likely || chosen == std::string_view::npos) chosen = at;
        if (likely) break;
    }
    if (chosen == std::string_view::npos) return std::nullopt;
    return H5Name{std::string(name.substr(0, chosen)), std::string(name.substr(chosen + 1))};
}

}  // namespace wq::slices::sources
