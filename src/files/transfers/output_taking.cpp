#include "files/transfers/output_taking.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/read_write.h"
#include "files/trees/task_files.h"
#include "files/trees/tree_writer.h"
#include "files/trees/watched_file.h"

namespace wq::files::transfers {

namespace {
// A reader may exceed its grant by one entry.
constexpr std::uint64_t slack = trees::most_entry_bytes + trees::entry_head_bytes;
constexpr std::uint64_t longest_marker = 256;  // behind a stream that was cut

std::shared_ptr<const trees::TaskFiles> no_files() {
    return std::make_shared<const trees::TaskFiles>();
}

// A file for a large stream. It has no name, so that nothing can leave it behind.
Descriptor nameless_file() {
    std::error_code none;
    std::string path = (std::filesystem::temp_directory_path(none) / "work_queue-output-XXXXXX").string();
    Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
    if (file.valid()) ::unlink(path.c_str());
    return file;
}
}  // namespace

// The outputs of a task arrive one after the other.
struct OutputTaking::Taking {
    // Used on the background thread.
    std::optional<trees::TreeWriter> writer;
    std::uint32_t output = 0;  // index of the output being written
    std::string trouble;       // the first error
    std::array<Descriptor, 2> streams;
    // Used on the loop's thread.
    std::uint64_t received = 0;
    std::uint64_t granted = net::messages::first_output_bytes;
    std::uint32_t next = 0;   // earlier outputs are complete
    std::uint64_t bytes = 0;  // of the current output
    Instant began;
    std::array<std::uint64_t, 2> stream_bytes{};
    bool finishing = false;
    bool finished = false;
    bool watching = false;             // data appended during the run is being written
    std::atomic<bool> dropped{false};  // unwritten data is discarded

    // Returns whether the output is complete in its place.
    bool write(const trees::OutputFile& to, std::uint32_t index, const std::string& part, bool last) {
        if (dropped) return false;
        if (index != output) leave_off();
        const bool begins = !writer && index != skipped;
        if (begins) writer.emplace(to.to, trees::TreeWriter::Purpose::kept);
        output = index;
        if (!writer) return false;
        auto wrong = writer->write(part);
        if (!wrong && last) wrong = writer->finish();
        if (wrong && trouble.empty()) trouble = wrong->what;
        if (wrong) skipped = index;
        if (wrong || last) writer.reset();
        return last && !wrong;
    }
    void write_stream(std::size_t number, const std::string& part) {
        Descriptor& file = streams.at(number);
        if (dropped || !trouble.empty()) return;
        if (!file.valid()) file = nameless_file();
        if (!file.valid() || !write_all(file.get(), part))
            trouble = "its output cannot be kept in TMPDIR: " + std::generic_category().message(errno);
    }
    void end_streams() {
        for (std::size_t number = 0; number < streams.size(); ++number)
            if (streams.at(number).valid()) write_stream(number, std::string(1, '\0'));
    }
    // Removes an incomplete output.
    void leave_off() {
        if (writer && trouble.empty()) trouble = "a file is incomplete";
        writer.reset();
    }

  private:
    std::optional<std::uint32_t>
        skipped;  // an output that cannot be written; its remaining parts are ignored
};

void OutputTaking::open(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files) {
    leases_.insert_or_assign(key, Lease{worker, std::move(files), nullptr});
}

void OutputTaking::expect_streams(WorkerId worker, LeaseKey key, std::uint64_t limit) {
    Lease& lease = leases_.try_emplace(key, Lease{worker, no_files(), nullptr}).first->second;
    lease.stream_limit = limit;
}

std::array<Descriptor, 2> OutputTaking::take_streams(WorkerId worker, LeaseKey key) {
    const Lease* const lease = find(worker, key.first, key.second);
    if (lease == nullptr) return {};
    const std::shared_ptr<Taking>& taking = lease->taking ? lease->taking : lease->kept;
    if (!taking || !taking->finished) return {};
    return std::move(taking->streams);
}

OutputTaking::Lease* OutputTaking::find(WorkerId worker, TaskId task, Attempt attempt) {
    const auto found = leases_.find({task, attempt});
    return found == leases_.end() || found->second.worker != worker ? nullptr : &found->second;
}

std::shared_ptr<OutputTaking::Taking> OutputTaking::taking_of(Lease& lease) {
    if (!lease.taking) lease.taking = std::make_shared<Taking>();
    return lease.taking;
}

// ---- what comes ----

// Parts arrive in order, each with at least a byte, as a reader makes them.
bool OutputTaking::on(WorkerId worker, net::messages::OutputPart& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr) {
        send_(worker,
              net::messages::OutputsKept{message.task, message.attempt, "they are no longer expected"});
        return true;
    }
    if (message.bytes.empty()) return false;
    if (message.output >= lease->files->outputs.size()) return take_stream(worker, *lease, message);
    const std::shared_ptr<Taking> taking = taking_of(*lease);
    const std::uint64_t size = message.bytes.size();
    taking->received += size;
    if (taking->finishing || message.output < taking->next || taking->received > taking->granted + slack)
        return false;
    if (taking->bytes == 0 || message.output != taking->next) {
        taking->bytes = 0;
        taking->began = instant_now();
    }
    taking->bytes += size;
    const trees::OutputFile& file = lease->files->outputs[message.output];
    Transfer transfer{message.task, false, file.cached, file.name, taking->bytes, {}};
    if (message.last) taking->bytes = 0;
    taking->next = message.output + (message.last ? 1 : 0);
    tally_.received(size);
    const LeaseKey key{message.task, message.attempt};
    jobs_.post(
        [this, worker, taking, key, files = lease->files, output = message.output, last = message.last,
         transfer, began = taking->began,
         bytes = std::make_shared<std::string>(std::move(message.bytes))]() mutable -> Background::Then {
            const bool kept = taking->write(files->outputs[output], output, *bytes, last);
            return [this, worker, taking, key, size = bytes->size(), kept, transfer, began]() mutable {
                if (taking->dropped) return;
                taking->granted += size;
                transfer.took = instant_now() - began;
                if (kept) tally_.count(transfer);
                send_(worker, net::messages::TakeOutput{key.first, key.second, taking->granted});
            };
        });
    return true;
}

bool OutputTaking::take_stream(WorkerId worker, Lease& lease, net::messages::OutputPart& message) {
    const std::size_t number = message.output - lease.files->outputs.size();
    if (number >= 2 || lease.stream_limit == 0) return false;
    const std::shared_ptr<Taking> taking = taking_of(lease);
    const std::uint64_t size = message.bytes.size();
    taking->received += size;
    taking->stream_bytes.at(number) += size;
    if (taking->finishing || message.output < taking->next || taking->received > taking->granted + slack ||
        taking->stream_bytes.at(number) > lease.stream_limit + longest_marker)
        return false;
    taking->next = message.output;
    tally_.received(size);
    jobs_.post([this, worker, taking, number, key = LeaseKey{message.task, message.attempt},
                bytes = std::make_shared<std::string>(std::move(message.bytes))]() -> Background::Then {
        taking->write_stream(number, *bytes);
        return [this, worker, taking, key, size = bytes->size()] {
            if (taking->dropped) return;
            taking->granted += size;
            send_(worker, net::messages::TakeOutput{key.first, key.second, taking->granted});
        };
    });
    return true;
}

// A write error is reported when the whole output arrives.
bool OutputTaking::on(WorkerId worker, net::messages::WatchedPart& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr) return true;
    const auto& outputs = lease->files->outputs;
    if (message.output >= outputs.size() || !outputs[message.output].watched ||
        message.bytes.size() > net::messages::part_bytes)
        return false;
    const std::shared_ptr<Taking> taking = taking_of(*lease);
    if (taking->finishing || std::exchange(taking->watching, true)) return false;
    tally_.received(message.bytes.size());
    jobs_.post(
        [this, worker, taking, files = lease->files,
         part = std::make_shared<net::messages::WatchedPart>(std::move(message))]() -> Background::Then {
            if (taking->dropped) return {};
            trees::write_growth(files->outputs[part->output].to, part->offset, part->bytes);
            return [this, worker, taking, part] {
                taking->watching = false;
                if (!taking->dropped) send_(worker, net::messages::WatchedTaken{part->task, part->attempt});
            };
        });
    return true;
}

void OutputTaking::on(WorkerId worker, const net::messages::OutputsSent& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    net::messages::OutputsKept kept{message.task, message.attempt, ""};
    if (lease == nullptr) kept.trouble = "they are no longer expected";
    if (lease == nullptr || !lease->taking) return send_(worker, kept);
    const std::shared_ptr<Taking> taking = lease->taking;
    if (std::exchange(taking->finishing, true)) return;
    jobs_.post([this, worker, kept, taking]() -> Background::Then {
        taking->leave_off();
        taking->end_streams();
        return [this, worker, kept, taking]() mutable {
            if (taking->dropped) return;
            taking->finished = true;
            kept.trouble = taking->trouble;
            send_(worker, kept);
        };
    });
}

// ---- ends ----

// Removes an incomplete file on the thread that wrote it.
void OutputTaking::leave_off(Lease& lease) {
    if (!lease.taking) return;
    lease.taking->dropped = true;
    jobs_.post([taking = std::exchange(lease.taking, nullptr)]() -> Background::Then {
        taking->writer.reset();
        return {};
    });
}

void OutputTaking::close(LeaseKey key) {
    const auto lease = leases_.find(key);
    if (lease == leases_.end()) return;
    leave_off(lease->second);
    leases_.erase(lease);
}

// A worker that has heard that all is kept sends only its report again, for which the streams are still here.
void OutputTaking::cut(LeaseKey key) {
    const auto found = leases_.find(key);
    if (found == leases_.end()) return;
    Lease& lease = found->second;
    if (lease.taking && lease.taking->finished) lease.kept = std::exchange(lease.taking, nullptr);
    leave_off(lease);
}

}  // namespace wq::files::transfers
