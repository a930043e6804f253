// FileDesk: outputs come home, one of a task after the other; and what grows while its task runs.
#include "app/file_desk_parts.h"
#include "files/watched_file.h"

namespace wq::app {

namespace {
// A reader may go beyond what it was asked for by an entry.
constexpr std::uint64_t slack = files::most_entry_bytes + files::entry_head_bytes;
}  // namespace

// In order, each with at least a byte, as a reader makes them.
bool FileDesk::on(WorkerId worker, wire::OutputPart& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr) {
        tell_(worker, wire::OutputsKept{message.task, message.attempt, "nobody expects them any more"});
        return true;
    }
    if (message.output >= lease->files->outputs.size() || message.bytes.empty()) return false;
    if (!lease->taking) lease->taking = std::make_shared<Taking>();
    const std::shared_ptr<Taking> taking = lease->taking;
    const std::uint64_t size = message.bytes.size();
    taking->received += size;
    if (taking->finishing || message.output < taking->next || taking->received > taking->granted + slack)
        return false;
    if (taking->bytes == 0 || message.output != taking->next) {
        taking->bytes = 0;
        taking->began = instant_now();
    }
    taking->bytes += size;
    Transfer transfer{message.task,  false, false, lease->files->outputs[message.output].name,
                      taking->bytes, {}};
    if (message.last) taking->bytes = 0;
    taking->next = message.output + (message.last ? 1 : 0);
    traffic_.bytes_received += static_cast<std::int64_t>(size);
    const Key key{message.task, message.attempt};
    in_background(
        [this, worker, taking, key, files = lease->files, output = message.output, last = message.last,
         transfer, began = taking->began,
         bytes = std::make_shared<std::string>(std::move(message.bytes))]() mutable -> Background::Then {
            const bool kept = taking->write(files->outputs[output], output, *bytes, last);
            return [this, worker, taking, key, size = bytes->size(), kept, transfer, began]() mutable {
                if (taking->dropped) return;
                taking->granted += size;
                transfer.took = instant_now() - began;
                if (kept) count(transfer);
                tell_(worker, wire::TakeOutput{key.first, key.second, taking->granted});
            };
        });
    return true;
}

// What cannot be written is told when all of it comes.
bool FileDesk::on(WorkerId worker, wire::WatchedPart& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr) return true;
    const auto& outputs = lease->files->outputs;
    if (message.output >= outputs.size() || !outputs[message.output].watched ||
        message.bytes.size() > wire::part_bytes)
        return false;
    if (!lease->taking) lease->taking = std::make_shared<Taking>();
    const std::shared_ptr<Taking> taking = lease->taking;
    if (taking->finishing || std::exchange(taking->watching, true)) return false;
    traffic_.bytes_received += static_cast<std::int64_t>(message.bytes.size());
    in_background([this, worker, taking, files = lease->files,
                   part = std::make_shared<wire::WatchedPart>(std::move(message))]() -> Background::Then {
        if (taking->dropped) return {};
        files::write_growth(files->outputs[part->output].to, part->offset, part->bytes);
        return [this, worker, taking, part] {
            taking->watching = false;
            if (!taking->dropped) tell_(worker, wire::WatchedTaken{part->task, part->attempt});
        };
    });
    return true;
}

void FileDesk::on(WorkerId worker, const wire::OutputsSent& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    wire::OutputsKept kept{message.task, message.attempt, ""};
    if (lease == nullptr) kept.trouble = "nobody expects them any more";
    if (lease == nullptr || !lease->taking) return tell_(worker, kept);
    const std::shared_ptr<Taking> taking = lease->taking;
    if (std::exchange(taking->finishing, true)) return;
    in_background([this, worker, kept, taking]() -> Background::Then {
        taking->leave_off();
        return [this, worker, kept, taking]() mutable {
            if (taking->dropped) return;
            kept.trouble = taking->trouble;
            tell_(worker, kept);
        };
    });
}

}  // namespace wq::app
