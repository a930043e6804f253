// A file of binary records that all have the same number of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/interval_set.h"
#include "slices/sources/record_reader.h"
#include "slices/sources/source_file.h"

namespace wq::slices::sources {

class RecordFile {
  public:
    // Error usage: `record_bytes` is 0. Error bad_input: the file cannot be read, is no whole number of
    // records, or is another one than `planned`.
    static Result<RecordFile> open(const std::string& path, std::uint64_t record_bytes,
                                   const std::optional<SourceStamp>& planned = std::nullopt);

    const std::string& path() const { return file_.path(); }
    std::uint64_t record_bytes() const { return record_bytes_; }
    std::uint64_t records() const { return file_.bytes() / record_bytes_; }
    SourceStamp stamp() const { return file_.stamp(records()); }
    // Error bad_input: the file has fewer records.
    Status check(Interval records) const;
    // Reads the records [first, end) into `to`, which has exactly as many bytes.
    Status read(std::uint64_t first, std::uint64_t end, std::span<char> to) const;

  private:
    RecordFile(SourceFile file, std::uint64_t record_bytes)
        : file_(std::move(file)), record_bytes_(record_bytes) {}

    SourceFile file_;
    std::uint64_t record_bytes_;
};

// Key "FILE?record=N"; N counts from 0 in the file.
class BinaryReader final : public RecordReader {
  public:
    // `records`: nullopt: all. Error bad_input: the file has fewer.
    static Result<BinaryReader> open(RecordFile file, std::optional<Interval> records = std::nullopt);
    Result<RecordBlock> read(std::size_t most) override;
    std::shared_ptr<const void> keep() override { return bytes_.keep(); }
    Status move_to(const RecordSpan& place) override;
    std::uint64_t record_bytes() const override { return file_.record_bytes(); }

  private:
    BinaryReader(RecordFile file, Interval left)
        : RecordReader(file.path() + "?record="), file_(std::move(file)), left_(left) {}
    Status fill(std::uint64_t wanted);

    RecordFile file_;
    Interval left_;    // still to be returned
    Interval block_;   // the records read last
    KeptBytes bytes_;  // of them
};

}  // namespace wq::slices::sources
