// Scalars of a run as TensorBoard draws them: an event file, which only grows, by whole records. The format
// is TensorFlow's, and so little of it that it is encoded by hand:
// * Records, as in tensorflow/core/lib/io/record_writer.h: uint64 length, uint32 masked CRC-32C of these
//   eight bytes, data, uint32 masked CRC-32C of the data; all little-endian. A CRC is masked by turning it
//   right by 15 bits and adding 0xa282ead8 (tsl/lib/hash/crc32c.h).
// * The data of each is one protobuf message Event (tensorflow/core/util/event.proto): double wall_time = 1,
//   int64 step = 2, and one of string file_version = 3 (only in the first) and Summary summary = 5.
// * Summary (tensorflow/core/framework/summary.proto): repeated Value value = 1; Value: string tag = 1,
//   float simple_value = 2. TensorFlow 2 writes a tensor, and names the plugin "scalars" in metadata = 9;
//   both readers of TensorBoard (tensorboard/data_compat.py, tensorboard/data/server/data_compat.rs) take a
//   simple_value without these for a scalar of that plugin.
// * TensorBoard knows its files by "tfevents" in their names (event_processing/io_wrapper.py); the rest
//   of the name is as in tensorboard/summary/writer/event_file_writer.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "records/journal/append_file.h"

namespace wq::records::logs {

struct Scalar {
    // Not empty; "group/name" is drawn in a group. UTF-8: a reader may refuse an event with
    // other text.
    std::string_view tag;
    // Also NaN and infinite. The file keeps a float: 7 digits, and infinite above 3.4e38.
    double value = 0;
};

// Not thread-safe. A process that may have a limit on file sizes has to ignore or block SIGXFSZ.
class EventFile {
  public:
    // Creates FOLDER/events.out.tfevents.SECONDS.HOST.PID.N and its folder, and writes the version to it.
    // SECONDS are those of `now`; N is the first number from 0 that is free, so no file is ever overwritten.
    // Errors interrupted and not_allowed: the folder or file cannot be made or written; then no file is left.
    static Result<EventFile> create(const std::string& folder, WallMicros now);

    // Writes what was not flushed; an error of that is lost.
    ~EventFile();
    EventFile(EventFile&& other) noexcept = default;
    EventFile& operator=(EventFile&&) = delete;

    // Keeps an event for the next flush(). No scalars: none. Error bad_input: a tag is empty; then
    // nothing is kept.
    Status add(std::int64_t step, WallMicros time, std::span<const Scalar> scalars);

    // Writes all that was added, in one write, so that a reader sees whole records: of a write that stopped
    // halfway, the file loses the beginning again. Error interrupted or not_allowed: the disk is full, or the
    // file or its folder was removed. That is told once: the file takes nothing more, and add() and flush()
    // succeed without an effect.
    Status flush();

    const std::string& path() const { return file_.path(); }

  private:
    explicit EventFile(journal::AppendFile file) : file_(std::move(file)) {}

    journal::AppendFile file_;
    std::string waiting_;  // records
    bool broken_ = false;
};

}  // namespace wq::records::logs
