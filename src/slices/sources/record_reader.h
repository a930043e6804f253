// The records of a source, or of a slice of it, one after the other: lines of text, rows of an HDF5 dataset,
// binary records. They are given many at once and where they were read to, because rows of 64 bytes take
// less time to read than to copy into strings of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/result.h"

namespace wq::slices::sources {

// Records that follow each other. They lie in their reader's memory until it reads on.
struct RecordBlock {
    std::size_t size = 0;                   // so many records
    std::uint64_t first = 0;                // number of the first, as in its key
    std::string_view bytes{};               // the values
    std::uint64_t record_bytes = 0;         // of each value, if `starts` is empty
    std::span<const std::size_t> starts{};  // of each value in `bytes`, and where another would start
    std::size_t gap = 0;                    // so many bytes between two values are of neither

    std::string_view value(std::size_t n) const {
        if (starts.empty()) return bytes.substr(n * record_bytes, record_bytes);
        return bytes.substr(starts[n], starts[n + 1] - starts[n] - gap);
    }
};

// The beginning of a line; lines count from 0.
struct LinePlace {
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
    bool operator==(const LinePlace&) const = default;
};

// Records of a source, half-open. Lines are searched from a place at or before the first.
struct RecordSpan {
    Interval records;
    LinePlace from{};
};
template <class V>
void fields(RecordSpan& place, V& visit) {
    visit(place.records.first, place.records.end, place.from.line, place.from.offset);
    visit.require(place.records.first <= place.records.end && place.from.line <= place.records.first);
}

class RecordReader {
  public:
    virtual ~RecordReader() = default;
    // With a record's number in decimal, its key: "FILE:" of "FILE:LINE".
    const std::string& key_prefix() const { return key_prefix_; }
    // Of the rows of a dataset, such as "float32[28][28]"; "": they are no rows.
    virtual std::string row_type() const { return {}; }
    virtual std::uint64_t record_bytes() const { return 0; }  // of each; 0: they differ
    virtual bool may_wait() const { return false; }           // for another process
    // The next records, at most `most`; fewer, and then none, at the end only. Error bad_input: they cannot
    // be read; do not read on.
    virtual Result<RecordBlock> read(std::size_t most) = 0;
    // While it lives, the bytes of the block that was read last stay as they are: the reader takes other
    // memory. Null: it cannot do that.
    virtual std::shared_ptr<const void> keep() { return nullptr; }
    // Reads these from now on: to open a source anew costs more than to read a short slice of it. Error
    // bad_input: it has fewer.
    virtual Status move_to(const RecordSpan& place) = 0;

  protected:
    explicit RecordReader(std::string key_prefix) : key_prefix_(std::move(key_prefix)) {}
    RecordReader(RecordReader&&) = default;
    RecordReader& operator=(RecordReader&&) = default;

  private:
    std::string key_prefix_;
};

// Memory for blocks. What somebody keeps is not used again.
class KeptBytes {
  public:
    // Of any value.
    std::span<char> renew(std::size_t size) {
        if (!bytes_ || bytes_.use_count() > 1) bytes_ = std::make_shared<std::vector<char>>();
        bytes_->resize(size);
        return *bytes_;
    }
    const char* data() const { return bytes_->data(); }
    std::shared_ptr<const void> keep() const { return bytes_; }

  private:
    std::shared_ptr<std::vector<char>> bytes_;
};

// How many records to read if `wanted` are asked for again and again, of which `fit` make a good block: a
// multiple, so that none is read twice.
inline std::uint64_t block_records(std::uint64_t wanted, std::uint64_t fit, std::uint64_t left) {
    const std::uint64_t some = fit > wanted ? fit / wanted * wanted : wanted;
    return some < left ? some : left;
}

}  // namespace wq::slices::sources
