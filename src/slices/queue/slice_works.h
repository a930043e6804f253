// Opens slices of works to read their records: in this process, or in the one that has the
// works (remote_worker.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "slices/plan/plan.h"
#include "slices/sources/record_reader.h"
#include "slices/sources/survey.h"
#include "work_queue/slice_queue.h"

namespace wq::slices::queue {

// What a reader reads.
struct ReadAs {
    sources::Kind kind = sources::Kind::lines;
    std::uint64_t record_bytes = 0;  // of records
};
template <class V>
void fields(ReadAs& as, V& visit) {
    visit(as.kind, as.record_bytes);
}

enum class WorkIs : std::uint8_t { nothing, file, other };  // other: a folder, for example
constexpr WorkIs last_of(WorkIs) {
    return WorkIs::other;
}

class RecordSource {
  public:
    virtual ~RecordSource() = default;
    // What the slice's work is where the works are.
    virtual Result<WorkIs> inspect(const Slice& slice) = 0;
    // Where the slice's records begin, for RecordReader::move_to(). Error: nobody can say it any more.
    virtual Result<sources::RecordSpan> place_of(const Slice& slice) = 0;
    // Error bad_input: it cannot be read, or changed since it was counted. Error usage: it was cut into other
    // records than these.
    virtual Result<std::unique_ptr<sources::RecordReader>> open(const Slice& slice, const ReadAs& as) = 0;
};

// The works of a SliceQueue: found and counted, cut, and opened to read a slice of one.

// What is known of a slice's work before it is opened.
struct Whereabouts {
    std::optional<sources::SourceStamp> planned;  // nullopt: it was not counted
    sources::RecordSpan place;
};
// In this process, whatever works it has.
Result<std::unique_ptr<sources::RecordReader>> open_here(const Slice& slice, const ReadAs& as,
                                                         const Whereabouts& whereabouts);

// The file that the slice's work is, or that has it as a dataset.
Result<sources::SourceFile> file_of(const Slice& slice,
                                    const std::optional<sources::SourceStamp>& planned = std::nullopt);

class SliceWorks final : public RecordSource {
  public:
    // Collective over the party. Throws SetupError on all ranks if a work is missing or cannot be counted.
    static SliceWorks find(const std::vector<std::string>& works, const SliceOptions& options,
                           const sources::Party& party);
    // Throws SetupError, and whatever the option `records` throws.
    plan::Plan cut(const SliceOptions& options) const;
    // For the user; "": nothing.
    std::string remark() const;
    bool are_files() const { return are_files_; }                              // those without "://"
    bool has(const std::string& work) const { return find(work) != nullptr; }  // with the prefix

    // Error usage: it was cut into other records than these.
    Result<Whereabouts> whereabouts(const Slice& slice, const ReadAs& as) const;
    Result<WorkIs> inspect(const Slice& slice) override;
    Result<sources::RecordSpan> place_of(const Slice& slice) override { return place(slice); }
    Result<std::unique_ptr<sources::RecordReader>> open(const Slice& slice, const ReadAs& as) override;

  private:
    const sources::Surveyed* find(const std::string& work) const;
    sources::RecordSpan place(const Slice& slice) const;

    std::vector<std::string> names_;  // without the prefix
    std::vector<sources::Surveyed> sources_;
    std::unordered_map<std::string, std::size_t> by_name_;
    std::uint64_t whole_files_ = 0;
    std::uint64_t whole_names_ = 0;
    bool are_files_ = false;
};

}  // namespace wq::slices::queue
