// Reads the attempts of a run from its stats.h5, or from whatever a user names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "records/hdf5/h5_reader.h"
#include "records/hdf5/schema.h"
#include "views/attempts.h"

namespace wq::views {

// Attempts that have ended.
Result<Attempts> read_stats(const records::hdf5::StatsReader& reader);

// The name of a run's list, or else of the file at `path`.
std::string title_of(const records::hdf5::StatsReader& reader, const std::string& path);

struct AttemptsFile {
    std::string path;  // of the file that was read
    std::string title;
    Attempts attempts;
};
// Of a run directory (its stats.h5, else its transactions.log), a stats.h5 or a transactions log. Errors:
// bad_input.
Result<AttemptsFile> read_source(const std::string& path);

// The workers of all sessions of a run directory.
class WorkerRows {
  public:
    // Rows of /workers, and of /manager: a worker whose end is not known leaves with the last sample of its
    // session.
    WorkerRows(std::vector<records::hdf5::WorkerRow> workers,
               std::span<const records::hdf5::ManagerRow> samples);

    const std::vector<records::hdf5::WorkerRow>& workers() const { return workers_; }
    // Ids begin anew with each session: the place in workers() of the last worker of that id that had joined.
    std::optional<std::size_t> place_of(std::uint32_t id, std::int64_t when) const;

  private:
    std::vector<records::hdf5::WorkerRow> workers_;
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> places_;  // by id
};

}  // namespace wq::views
