// The process that gives a queue's slices: rank 0, or a program without MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "manager/run/mpi_tickets.h"
#include "net/contact/open_port.h"
#include "records/journal/append_file.h"
#include "records/logs/slice_summary.h"
#include "slices/claims/line_threads.h"
#include "slices/queue/pass.h"
#include "slices/queue/record_server.h"
#include "slices/queue/slice_works.h"

namespace wq::slices::queue {

// Statistics of a queue, in the process that gives the slices.
class Statistics {
  public:
    // `pass` must outlive it.
    explicit Statistics(const Pass& pass) : pass_(pass), order_(pass.order()) {}

    // A commit that counts; on any thread. Kept until there is a summary: other ranks may commit before.
    void record(std::uint32_t rank, const claims::Timed& each);
    // Writes them from now on. `report` is called now and then, until finish(). Throws SetupError.
    void open(const SliceSummaryOptions& options, std::function<claims::GiverReport()> report);
    void write_now();  // all that is recorded, if there is a summary
    void finish();     // with a last sample

  private:
    records::logs::SliceSample sample(const claims::GiverReport& now) const;
    records::hdf5::SliceRow row_of(std::uint32_t rank, const claims::Timed& each);

    const Pass& pass_;
    const WallMicros started_ = wall_now();
    std::mutex mutex_;  // of all that follows
    plan::SliceOrder order_;
    std::unique_ptr<records::logs::SliceSummary> summary_;
    std::vector<records::hdf5::SliceRow> early_rows_;
};

// A port for the other ranks and, if the options name a contact file, for workers. Its contact file goes with
// it.
class GivingPort {
  public:
    struct Ranks {
        std::uint32_t count = 1;
        bool all_here = true;  // on this machine
    };
    // Throws SetupError.
    GivingPort(const SliceOptions& options, const Ranks& ranks);
    GivingPort(GivingPort&& other) noexcept;
    GivingPort& operator=(GivingPort&&) = delete;
    ~GivingPort();
    // For ranks; empty: there is no port.
    const std::string& contact() const { return contact_; }
    void publish() const;  // writes the contact file; throws SetupError
    std::unique_ptr<net::frames::TcpListener> take_listener();

  private:
    void open_for_ranks(bool all_here);
    void open_for_workers();

    std::string file_;  // of the contact; empty: none
    std::optional<net::contact::OpenPort> port_;
    std::unique_ptr<net::frames::TcpListener> listener_;  // of ranks alone
    std::string contact_;
};

struct GivingOptions {
    SliceWorks works;
    std::unique_ptr<Pass> pass;
    IntervalSet committed;  // by an earlier program
    manager::run::NodeTickets tickets;
    GivingPort port;
    std::uint32_t ranks = 1;
};

class Giving final : public Member {
  public:
    // Throws SetupError.
    explicit Giving(GivingOptions options);
    ~Giving() override;

    const Pass& pass() const override { return *pass_; }
    RecordSource& records() override { return works_; }
    claims::Taker& taker() override { return line_->taker(); }
    Giving* giving() override { return this; }

    void save(const std::string& path);  // throws std::runtime_error
    std::uint64_t failed() const { return line_->report().failed; }
    void add_summary(const SliceSummaryOptions& options);
    // Waits until all others have left.
    bool leave() override;
    // Workers may come from now on. Throws SetupError.
    void publish() const { port_.publish(); }
    // Others lose it at once: nobody takes any more.
    void abandon() { line_->abandon(); }
    // For ranks that draw through them.
    void use(ranks::tickets::Counters& counters) { line_->use(counters); }

  private:
    void remark(std::uint64_t ranks) const;

    SliceWorks works_;
    std::unique_ptr<Pass> pass_;
    Statistics statistics_;
    manager::run::NodeTickets tickets_;
    Descriptor saved_to_;  // held, so that no other run saves there
    GivingPort port_;
    std::unique_ptr<RecordServer> server_;  // if there may be workers
    std::unique_ptr<claims::GiverLine> line_;
};

// Of a taker that has the pass.
claims::TakerOptions taker_options(const Pass& pass, const std::string& node, std::uint32_t rank);

}  // namespace wq::slices::queue
