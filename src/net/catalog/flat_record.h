// A record as its text, with where its members are: a third of the memory of a tree, and searched without
// one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/catalog/jx.h"

namespace wq::net::catalog {

// Checks and indexes a record in one pass: ten times as fast as a parser that makes a tree.

// Nested deeper, a value is refused: what copies, prints or removes it uses stack for each level.
inline constexpr int most_levels = 100;

// An expression looks for members one by one, and takes as long for each as there are members.
inline constexpr std::size_t most_members = 4096;

struct MemberPlace {
    std::uint32_t hash, key, value, end;  // of the key; places in the text
};

std::uint32_t hash_of_key(std::string_view key);

// The members of an object as programs write it: JSON in one line, at most most_levels deep, without
// escapes, control characters and numbers that have an exponent or more than 18 digits. nullopt: all else,
// be it JSON or not.
std::optional<std::vector<MemberPlace>> members_of_usual(std::string_view text);

class FlatRecord {
  public:
    FlatRecord() = default;
    // An object in one line whose keys have no escapes, as read_update() returns it.
    explicit FlatRecord(std::string text);
    // The same, with the places that members_of_usual() has found in the text.
    FlatRecord(std::string text, std::vector<MemberPlace> members);

    const std::string& text() const { return text_; }
    std::size_t bytes() const { return text_.capacity() + members_.capacity() * sizeof(MemberPlace); }

    // The JSON of a member; empty: there is none. `hash` is hash_of_key(key).
    std::string_view member(std::string_view key) const { return member(key, hash_of_key(key)); }
    std::string_view member(std::string_view key, std::uint32_t hash) const;
    // Whether `type` or `project` is surely another text than the one whose JSON has this hash. It is known
    // without a look at the text, which is in no cache if there are many records.
    bool is_surely_not(std::string_view key, std::uint32_t hash_of_json) const;
    // In their order: of each the name, in JSON without its quotes, and the value.
    std::size_t size() const { return members_.size(); }
    std::string_view name_at(std::size_t at) const;
    std::string_view value_at(std::size_t at) const;
    // The same as a text or integer; empty or 0: it is none.
    std::string text_of(std::string_view key) const;
    std::int64_t integer_of(std::string_view key) const;
    // For expressions.
    bool value_of(std::string_view key, Json& value) const;
    Json json() const;

    // A copy in which these members (JSON) replace its own; an empty one only removes it.
    struct Given {
        std::string_view key;
        std::string json;
    };
    FlatRecord with(const std::vector<Given>& members) const;

  private:
    static constexpr std::array<std::string_view, 2> hashed{"type", "project"};
    void hash_values();

    std::string text_;
    std::vector<MemberPlace> members_;
    std::array<std::uint32_t, hashed.size()> hashes_{};  // of their JSON; 0: it may be written otherwise
};

}  // namespace wq::net::catalog
