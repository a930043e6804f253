// A record as its text, with where its members are: a third of the memory of a tree, and searched without
// one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/jx.h"

namespace wq::catalog {

class FlatRecord {
  public:
    FlatRecord() = default;
    // An object in one line whose keys have no escapes, as read_update() returns it.
    explicit FlatRecord(std::string text);

    const std::string& text() const { return text_; }
    std::size_t bytes() const { return text_.capacity() + members_.capacity() * sizeof(Member); }

    // The JSON of a member; empty: there is none.
    std::string_view member(std::string_view key) const;
    // The same as a text or integer; empty or 0: it is none.
    std::string text_of(std::string_view key) const;
    std::int64_t integer_of(std::string_view key) const;
    // For expressions.
    bool value_of(std::string_view key, Json& value) const;
    Json json() const;

    // A copy in which these members (JSON) replace its own.
    struct Given {
        std::string_view key;
        std::string json;
    };
    FlatRecord with(const std::vector<Given>& members) const;

  private:
    struct Member {
        std::uint32_t hash, key, value, end;  // places in the text
    };
    std::string text_;
    std::vector<Member> members_;
};

}  // namespace wq::catalog
