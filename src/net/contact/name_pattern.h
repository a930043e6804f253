// What a user calls managers by: a POSIX extended regular expression that must match the whole name.
#pragma once

#include <regex.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace wq::net::contact {

class NamePattern {
  public:
    // Error usage: no such expression.
    static Result<NamePattern> of(const std::string& text);
    bool matches(const std::string& name) const;
    // The only name that matches, if that is simple to see; else empty.
    const std::string& only_name() const { return only_name_; }

  private:
    NamePattern() = default;
    std::shared_ptr<const regex_t> compiled_;
    std::string only_name_;
};

}  // namespace wq::net::contact
