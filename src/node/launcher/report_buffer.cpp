#include "node/launcher/report_buffer.h"

namespace wq::node::launcher {

void ReportBuffer::add(std::uint64_t serial, Report report, Instant now) {
    append(batch_, ReportMessage{serial, std::move(report)});
    ++count_;
    note_unreported(now);
}

void ReportBuffer::note_unreported(Instant now) {
    if (!first_) first_ = now;
}

bool ReportBuffer::due(Instant now) const {
    return first_ && (count_ >= most_reports || batch_.size() >= most_bytes || now >= due_at());
}

bool ReportBuffer::flush(int socket) {
    count_ = 0;
    first_.reset();
    if (leaving_.empty())
        std::swap(leaving_.end(), batch_);
    else
        leaving_.end() += batch_;
    batch_.clear();
    return leaving_.empty() || leaving_.send(socket);
}

}  // namespace wq::node::launcher
