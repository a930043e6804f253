#include "host/outbox.h"

namespace wq::host {

void Outbox::add(std::uint64_t serial, Report report, Instant now) {
    append(batch_, ReportMessage{serial, std::move(report)});
    ++count_;
    note_unreported(now);
}

void Outbox::note_unreported(Instant now) {
    if (!first_) first_ = now;
}

bool Outbox::due(Instant now) const {
    return first_ && (count_ >= most_reports || batch_.size() >= most_bytes || now >= due_at());
}

bool Outbox::flush(int socket) {
    count_ = 0;
    first_.reset();
    if (leaving_.empty())
        std::swap(leaving_, batch_);
    else
        leaving_ += batch_;
    batch_.clear();
    return leaving_.empty() || send_some(socket, leaving_);
}

}  // namespace wq::host
