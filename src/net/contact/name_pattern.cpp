#include "net/contact/name_pattern.h"

#include <algorithm>
#include <array>

#include "base/units.h"

namespace wq::net::contact {

Result<NamePattern> NamePattern::of(const std::string& text) {
    auto compiled = std::make_unique<regex_t>();
    const int wrong = ::regcomp(compiled.get(), ("^(" + text + ")$").c_str(), REG_EXTENDED | REG_NOSUB);
    if (wrong != 0) {
        std::array<char, 200> why{};
        ::regerror(wrong, compiled.get(), why.data(), why.size());
        return Error{ExitCode::usage,
                     quote_for_message(text) + " is not a regular expression: " + why.data()};
    }
    NamePattern pattern;
    pattern.compiled_ = std::shared_ptr<const regex_t>(compiled.release(), [](const regex_t* old) {
        ::regfree(const_cast<regex_t*>(old));
        delete old;
    });
    const bool simple = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_';
    });
    if (simple) pattern.only_name_ = text;
    return pattern;
}

bool NamePattern::matches(const std::string& name) const {
    return ::regexec(compiled_.get(), name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace wq::net::contact
