// A permutation of 0 ... size-1 that anybody computes alone from a key: any element at once, in constant time
// and memory. So all ranks agree on the order of an epoch without sending it, and 10^12 slices cost no more
// memory than 10.
//
// Method: the places form a table of about sqrt(size) rows and columns. Each round adds to a place's row a
// keyed hash of its column, then to its column one of its row (a Feistel network on Z_rows x Z_columns: Black
// and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). The table has fewer places beyond
// `size` than rows; a result among these is permuted once more. It shuffles well, but is no cipher.
#pragma once

#include <array>
#include <cstdint>

namespace wq::slices::plan {

class Permutation {
  public:
    static constexpr std::uint64_t largest = std::uint64_t{1} << 62;

    // `size`: 1 to `largest`.
    Permutation(std::uint64_t size, std::uint64_t key);

    std::uint64_t size() const { return size_; }
    std::uint64_t at(std::uint64_t position) const {  // position < size()
        do position = moved(position);
        while (position >= size_);
        return position;
    }
    // Those of `places` from `first` on, all below size(). Together they take a third of the time, because
    // each one alone is a chain of multiplications that wait for each other.
    static constexpr std::size_t together = 8;
    using Elements = std::array<std::uint64_t, together>;
    Elements from(std::uint64_t first) const;

  private:
    static constexpr std::size_t most_rounds = 12;
    std::uint64_t moved(std::uint64_t place) const;

    std::uint64_t size_;
    std::uint64_t rows_;
    std::uint64_t columns_;
    std::size_t rounds_;
    std::array<std::uint64_t, 2 * most_rounds> keys_;
};

// Bits that depend on all bits of both: a key for each epoch of a seed, for example.
std::uint64_t mixed(std::uint64_t one, std::uint64_t other);

}  // namespace wq::slices::plan
