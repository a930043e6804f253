#include "records/recorder/journal_writer.h"

namespace wq::records::recorder {

Result<JournalWriter> JournalWriter::open(const std::string& run_directory, const journal::RunHeader& header,
                                          std::uint64_t valid_bytes) {
    const std::string path = run_directory + "/journal";
    if (valid_bytes == 0) {
        // Written by a rename, so that no journal has half a header.
        if (auto made = journal::write_atomically(path, journal::encode_header(header)); !made)
            return made.error();
        if (auto synced = journal::sync_directory(run_directory); !synced) return synced.error();
        valid_bytes = UINT64_MAX;
    }
    auto output = journal::OutputLog::open(run_directory);
    if (!output) return output.error();
    auto journal = journal::AppendFile::open(path, valid_bytes);
    if (!journal) return journal.error();
    return JournalWriter(std::move(*output), std::move(*journal));
}

void JournalWriter::stage(const Recorded& ended) {
    batch_.add(ended.record, ended.output);
    journal_bytes_ += journal::encode_record(ended.record);
}

Status JournalWriter::write() {
    if (lost_) return *lost_;
    if (step_ == Step::data) {
        if (auto written = output_.append_data(batch_.data()); !written) return written;
        step_ = Step::index;
    }
    if (step_ == Step::index) {
        if (auto written = output_.append_index(batch_.index()); !written) return written;
        step_ = Step::journal;
    }
    if (auto written = journal_.append(journal_bytes_); !written) return written;
    unsynced_ = true;
    step_ = Step::data;
    batch_ = journal::OutputBatch(output_.end());
    journal_bytes_.clear();
    return success();
}

Status JournalWriter::sync() {
    if (lost_) return *lost_;
    if (!unsynced_) return success();
    auto synced = output_.sync();
    if (synced) synced = journal_.sync();
    if (synced) {
        unsynced_ = false;
    } else {
        lost_ = Error{ExitCode::interrupted,
                      synced.error().message + "; what was written since the last sync may be lost"};
        return *lost_;
    }
    return synced;
}

}  // namespace wq::records::recorder
