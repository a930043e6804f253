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
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/result.h"

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

// The order of slices: epoch after epoch, each a permutation of its own. A position counts over all epochs;
// everybody computes its slice alone. A SliceOrder keeps what it needs for the last epoch, so each thread has
// its own.
struct OrderOptions {
    std::uint64_t slices = 1;  // of an epoch
    std::uint64_t epochs = 1;
    bool shuffle = true;     // otherwise every epoch is 0, 1, 2, ...
    std::uint64_t seed = 0;  // equal seeds: equal orders, for any number of ranks
};

class SliceOrder {
  public:
    // Error (usage): no slices, no epochs, or more than 2^62 positions.
    static Result<SliceOrder> make(const OrderOptions& options);

    std::uint64_t slices() const { return options_.slices; }
    std::uint64_t epochs() const { return options_.epochs; }
    std::uint64_t positions() const { return options_.slices * options_.epochs; }
    std::uint64_t seed() const { return options_.seed; }
    std::uint64_t epoch_of(std::uint64_t position) const { return position / options_.slices; }
    // position < positions(). Fastest one after the other.
    std::uint64_t slice_at(std::uint64_t position);

  private:
    explicit SliceOrder(const OrderOptions& options);
    Permutation of(std::uint64_t epoch) const;

    OrderOptions options_;
    std::uint64_t epoch_ = 0;  // of permutation_
    Permutation permutation_;
    std::uint64_t last_ = 0;  // position
    std::uint64_t ahead_at_;  // position of the first of ahead_
    Permutation::Elements ahead_{};
};

// How sources are cut into slices. A plan of any size costs memory for its sources only.
struct PlanSource {
    std::string name;                      // a path or URL
    std::optional<std::uint64_t> records;  // rows, for example; nullopt: it is one slice, whole
    bool operator==(const PlanSource&) const = default;
};

// parse() reads what text() writes.
struct Slice {
    std::string source;
    std::optional<Interval> records;  // half-open; nullopt: all
    std::string text() const;         // "URL?start=A&end=B", or the source alone
    static Slice parse(const std::string& text);
    bool operator==(const Slice&) const = default;
};

enum class Cut {
    whole,       // each source is one slice
    total,       // so many slices in all, in proportion to the sources' records
    per_source,  // about so many slices of each source, all as long but for the last
};

class Plan {
  public:
    // `slices`: how many; ignored for `whole`. A source whose records are unknown is one slice, and is not
    // counted among these. A source of no records has no slice, but for `whole`. `total`: exactly so many, at
    // least one of each source. The slices of a source have equal numbers of records, or the last ones have
    // one less. `per_source`, as DeepRec's WorkQueue cuts: a slice has max(1, records / slices) records,
    // rounded down, so there may be up to twice as many slices; the last is shorter. Errors (usage): no
    // sources; no records in any; a name that is empty or ends like a slice's; `slices` below 1, or (of
    // `total`) below the number of sources or above that of records.
    static Result<Plan> make(std::vector<PlanSource> sources, Cut cut, std::int64_t slices = 0);

    const std::vector<PlanSource>& sources() const { return sources_; }
    std::uint64_t size() const { return first_.back(); }  // slices
    Slice at(std::uint64_t slice) const;                  // slice < size(); O(log sources)
    std::size_t source_of(std::uint64_t slice) const;     // its place in sources()
    // Of sources and slices: other works have, almost surely, another one.
    std::uint64_t digest() const;

  private:
    // The first `longer` slices of a source have `length` records, the others `rest`.
    struct Pieces {
        std::uint64_t count = 0;
        std::uint64_t longer = 0;
        std::uint64_t length = 0;
        std::uint64_t rest = 0;
    };
    static Pieces even(std::uint64_t records, std::uint64_t count);
    static Pieces equal(std::uint64_t records, std::uint64_t wanted);
    explicit Plan(std::vector<PlanSource> sources) : sources_(std::move(sources)) {}
    void add(Pieces pieces);

    std::vector<PlanSource> sources_;
    std::vector<Pieces> pieces_;           // of each source
    std::vector<std::uint64_t> first_{0};  // slice of each source, and the number of all
};

}  // namespace wq::slices::plan
