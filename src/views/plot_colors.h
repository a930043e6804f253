// Colours that colour-blind readers can distinguish (after Okabe and Ito).
#pragma once

#include <array>

namespace wq::views {

inline constexpr const char* blue = "#0072B2";
inline constexpr const char* sky = "#56B4E9";
inline constexpr const char* green = "#009E73";
inline constexpr const char* orange = "#E69F00";
inline constexpr const char* red = "#D55E00";
inline constexpr const char* pink = "#CC79A7";
inline constexpr const char* grey = "#7F7F7F";
inline constexpr const char* black = "#222222";

// Of categories, in this order.
inline constexpr std::array category_colors{blue, orange, green, pink, sky, red};

}  // namespace wq::views
