// Computes the content key of a tree: the SHA-256 (FIPS 180-4) of its stream. Trees with equal keys count as
// equal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wq::files::trees {

inline constexpr std::size_t key_digits = 64;

class KeyMaker {
  public:
    KeyMaker();
    ~KeyMaker();
    KeyMaker(KeyMaker&&) noexcept;
    KeyMaker& operator=(KeyMaker&&) noexcept;

    void add(std::string_view bytes);
    std::string key();  // lower-case hexadecimal; the last call

  private:
    struct State;
    std::unique_ptr<State> state_;
};

bool is_key(std::string_view text);

// A stream's key and length.
struct Content {
    std::string key;
    std::uint64_t bytes = 0;
};

}  // namespace wq::files::trees
