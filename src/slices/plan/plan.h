// How sources are cut into slices. A plan of any size costs memory for its sources only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/result.h"

namespace wq::slices::plan {

struct Source {
    std::string name;                      // a path or URL
    std::optional<std::uint64_t> records;  // rows, for example; nullopt: it is one slice, whole
    bool operator==(const Source&) const = default;
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
    static Result<Plan> make(std::vector<Source> sources, Cut cut, std::int64_t slices = 0);

    const std::vector<Source>& sources() const { return sources_; }
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
    explicit Plan(std::vector<Source> sources) : sources_(std::move(sources)) {}
    void add(Pieces pieces);

    std::vector<Source> sources_;
    std::vector<Pieces> pieces_;           // of each source
    std::vector<std::uint64_t> first_{0};  // slice of each source, and the number of all
};

}  // namespace wq::slices::plan
