// Writes the files that must not be lost: output.log, its index and the journal, in this order. A batch is
// prepared once and written in steps. A failed step is retried; the steps before it are not repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "records/journal/journal.h"
#include "records/journal/output_log.h"
#include "records/recorder/recorder.h"

namespace wq::records::recorder {

class JournalWriter {
  public:
    // `valid_bytes`: of the existing journal; 0: creates it with `header`.
    static Result<JournalWriter> open(const std::string& run_directory, const journal::RunHeader& header,
                                      std::uint64_t valid_bytes);

    // Only call it while nothing is staged.
    void stage(const Recorded& ended);
    void stage(const journal::WorkerRecord& record) { journal_bytes_ += journal::encode_record(record); }
    void stage(const journal::Sample& sample) { journal_bytes_ += journal::encode_record(sample); }
    void stage(const journal::CategoryRecord& record) { journal_bytes_ += journal::encode_record(record); }
    // Writes what is staged, starting where an earlier call stopped. Error: try again later. After a failed
    // sync nothing more is written, and the error stays: the system then treats unwritten data as written, so
    // a later success would prove nothing about the disk.
    Status write();
    Status sync();

  private:
    enum class Step { data, index, journal };
    JournalWriter(journal::OutputLog output, journal::AppendFile journal)
        : output_(std::move(output)), journal_(std::move(journal)), batch_(output_.end()) {}

    journal::OutputLog output_;
    journal::AppendFile journal_;
    journal::OutputBatch batch_;
    std::string journal_bytes_;
    Step step_ = Step::data;
    bool unsynced_ = false;
    std::optional<Error> lost_;
};

}  // namespace wq::records::recorder
