// Makes a RunView of the rows of stats.h5, read from one or made from a journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "records/hdf5/schema.h"
#include "views/model/run_view.h"
#include "views/model/worker_rows.h"

namespace wq::views::model {

class RunRows {
  public:
    enum class Transfers : std::uint8_t { recorded, absent };

    // `attempts`: about as many are to come.
    RunRows(std::size_t attempts, Transfers transfers);

    // Rows in any order, but that ids of categories and asks apply to what is added after them.
    void add(const records::hdf5::ManagerRow& row);
    void add(const records::hdf5::WorkerRow& row);  // replaces one with the same id and time
    void add(const records::hdf5::CategoryRow& row);
    void add(const records::hdf5::AskRow& row);
    void add(const records::hdf5::WorkerChangeRow& row);
    void add(const records::hdf5::WaitingRow& row);
    void add(const records::hdf5::TransferRow& row);
    void add(const records::hdf5::TaskRow& row);

    // Without title, path and host. is_live: workers of the last session that have not left are still there.
    // `lacks` says what could have been recorded, and was not.
    RunView result(bool is_live);

  private:
    void finish_sessions();
    void finish_workers(bool is_live);
    void finish_places(const WorkerRows& rows);
    void finish_attempts();
    void finish_transfers();
    void finish_times();
    void say_what_was_not_measured();

    RunView run_;
    Transfers transfers_;
    std::vector<records::hdf5::ManagerRow> samples_;
    std::vector<records::hdf5::WorkerRow> workers_;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> worker_places_;  // by id and joined
    std::vector<records::hdf5::WorkerChangeRow> changes_;
    std::unordered_map<std::string, std::uint32_t> category_names_;
    std::unordered_map<std::uint32_t, std::uint32_t> categories_;  // places, by id
    std::unordered_map<std::uint32_t, std::uint32_t> asks_;        // the same
    std::map<std::pair<engine::model::Needs, std::string>, std::uint32_t> ask_places_;
    bool is_any_tree_measured_ = false;
};

}  // namespace wq::views::model
