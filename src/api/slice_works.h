// The works of a SliceQueue: found and counted, cut, and opened to read a slice of one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "slices/plan.h"
#include "sources/record_reader.h"
#include "sources/survey.h"
#include "work_queue/slice_queue.h"

namespace wq::api {

// What a reader reads.
struct ReadAs {
    sources::Kind kind = sources::Kind::lines;
    std::uint64_t record_bytes = 0;  // of records
};

class SliceWorks {
  public:
    // Collective over the party. Throws SetupError on all ranks if a work is missing or cannot be counted.
    static SliceWorks find(const std::vector<std::string>& works, const SliceOptions& options,
                           const sources::Party& party);
    // Throws SetupError, and whatever the option `records` throws.
    slices::Plan cut(const SliceOptions& options) const;
    // For the user; "": nothing.
    std::string remark() const;

    // Where the slice's records begin, for RecordReader::move_to().
    sources::Place place_of(const Slice& slice) const;
    // Error bad_input: it cannot be read, or changed since it was counted. Error usage: it was cut into other
    // records than these.
    Result<std::unique_ptr<sources::RecordReader>> open(const Slice& slice, const ReadAs& as) const;

  private:
    const sources::Surveyed* find(const std::string& work) const;  // with the prefix

    std::vector<std::string> names_;  // without
    std::vector<sources::Surveyed> sources_;
    std::unordered_map<std::string, std::size_t> by_name_;
    std::uint64_t whole_files_ = 0;
};

}  // namespace wq::api
