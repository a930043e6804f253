// The workers of all sessions of a run directory, as rows of stats.h5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "records/hdf5/schema.h"

namespace wq::views::model {

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

}  // namespace wq::views::model
