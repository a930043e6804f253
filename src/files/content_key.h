// The name of a tree by its content: the SHA-256 (FIPS 180-4) of its stream. Equal keys are taken for equal
// trees.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wq::files {

inline constexpr std::size_t key_digits = 64;

class KeyMaker {
  public:
    KeyMaker();
    ~KeyMaker();
    KeyMaker(KeyMaker&&) noexcept;
    KeyMaker& operator=(KeyMaker&&) noexcept;

    void add(std::string_view bytes);
    std::string key();  // hexadecimal, in small letters; nothing may be added after it

  private:
    struct State;
    std::unique_ptr<State> state_;
};

bool is_key(std::string_view text);

// Of a stream, and how long it is.
struct Content {
    std::string key;
    std::uint64_t bytes = 0;
};

}  // namespace wq::files
