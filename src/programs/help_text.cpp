#include "programs/help_text.h"

namespace wq::programs {

std::string without_trailing_blanks(const std::string& text) {
    std::string clean;
    clean.reserve(text.size());
    for (const char byte : text) {
        if (byte == '\n') clean.erase(clean.find_last_not_of(' ') + 1);
        clean += byte;
    }
    return clean;
}

}  // namespace wq::programs
