#include "ranks/tickets/sealed_batch.h"

#include "base/fields.h"
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

// Without the coprocess, which no batch has: messages have another list for calls.
template <class V>
void fields(TicketText& text, V& visit) {
    visit(text.command, text.environment_position, text.variables);
    bool calls = text.call.has_value();
    visit(calls);
    if (!calls) return;
    if constexpr (V::reads) text.call.emplace();
    visit(text.call->function, text.call->arguments, text.call->mode);
}

std::string encode(const TicketText& text) {
    return bytes_of(text);
}

std::optional<TicketText> decode_ticket_text(std::string_view bytes) {
    std::optional<TicketText> text(std::in_place);
    if (!fields_are(bytes, *text)) text.reset();
    return text;
}

}  // namespace wq::ranks::tickets
