#include "ranks/tickets/sealed_batch.h"

#include "net/messages/msgpack_library.h"

namespace wq::ranks::tickets {

BatchView::BatchView(const net::messages::SealedBatch& sealed)
    : id_(sealed.batch),
      first_item_(sealed.first_item),
      call_(sealed.call),
      first_index_(sealed.first_index) {
    sealed.tasks.for_each([&](Interval part) {
        parts_.push_back({count_, part});
        count_ += part.size();
    });
    if (sealed.command.empty()) return;
    auto indexes = engine::tasklist::IndexSet::parse(sealed.indexes);
    if (!indexes) return;
    indexes_ = std::move(*indexes);
    command_.emplace(sealed.command);
}

const BatchView::Part& BatchView::part_of(std::uint64_t ticket) const {
    const auto after =
        std::upper_bound(parts_.begin(), parts_.end(), ticket,
                         [](std::uint64_t place, const Part& part) { return place < part.first_ticket; });
    return *std::prev(after);
}

TaskId BatchView::task(std::uint64_t ticket) const {
    const Part& part = part_of(ticket);
    return TaskId(part.tasks.first + (ticket - part.first_ticket));
}

Interval BatchView::tasks(std::uint64_t ticket, std::uint64_t most) const {
    const Part& part = part_of(ticket);
    const std::uint64_t first = part.tasks.first + (ticket - part.first_ticket);
    return {first, first + std::min(most, part.tasks.end - first)};
}

std::int64_t BatchView::call_index(TaskId task) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first_index_) + task.value() -
                                     first_item_.value());
}

std::string BatchView::index(std::uint64_t ticket) const {
    return std::to_string(indexes_.at(task(ticket).value() - first_item_.value()));
}

std::string BatchView::command(std::uint64_t ticket) const {
    return command_->render(index(ticket));
}

std::string index_arguments(std::int64_t index) {
    std::string bytes;
    struct Sink {
        std::string& bytes;
        void write(const char* data, std::size_t size) { bytes.append(data, size); }
    } sink{bytes};
    msgpack::packer<Sink> packer(sink);
    packer.pack_array(1);
    packer.pack(index);
    return bytes;
}

std::string encode(const TicketText& text) {
    ByteWriter out;
    out.blob(text.command);
    out.u64(text.environment_position);
    put(out, text.variables);
    out.boolean(text.call.has_value());
    if (text.call) {
        out.blob(text.call->function);
        out.blob(text.call->arguments);
        out.u8(static_cast<std::uint8_t>(text.call->mode));
    }
    return out.take();
}

std::optional<TicketText> decode_ticket_text(std::string_view bytes) {
    ByteReader in(bytes);
    TicketText text;
    text.command = in.blob();
    text.environment_position = in.u64();
    get(in, text.variables);
    if (in.boolean()) {
        net::messages::Call& call = text.call.emplace();
        call.function = in.blob();
        call.arguments = in.blob();
        const std::uint8_t mode = in.u8();
        if (mode > static_cast<std::uint8_t>(engine::model::CallMode::direct)) return std::nullopt;
        call.mode = static_cast<engine::model::CallMode>(mode);
    }
    if (!in.at_end()) return std::nullopt;
    return text;
}

}  // namespace wq::ranks::tickets
