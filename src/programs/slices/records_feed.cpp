#include "programs/slices/records_feed.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "slices/sources/h5_name.h"

namespace wq::programs::slices {

namespace {

constexpr std::size_t records_at_once = 4096;
constexpr std::size_t bytes_at_once = std::size_t{256} << 10;

// Returns false when nobody reads any more.
bool write_all(RecordsFeed::Pipe pipe, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(pipe.write_end, bytes.data(), bytes.size());
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
        if (written >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN) return false;
        std::array<pollfd, 2> ready{pollfd{pipe.write_end, POLLOUT, 0}, pollfd{pipe.reader_ended, POLLIN, 0}};
        ::poll(ready.data(), ready.size(), -1);
        if (ready[1].revents != 0) return false;
    }
    return true;
}

// Each value with `end` after it.
void feed_records(SliceReader& reader, std::size_t at_once, std::string_view end, RecordsFeed::Pipe pipe) {
    std::string bytes;
    for (;;) {
        const RecordValues values = reader.read_up_to(at_once).values;
        if (values.empty()) return;
        if (end.empty()) {  // nothing is between them
            const std::string_view last = values[values.size() - 1];
            if (!write_all(pipe, {values[0].data(), last.data() + last.size()})) return;
            continue;
        }
        bytes.clear();
        for (const std::string_view value : values) bytes.append(value).append(end);
        if (!write_all(pipe, bytes)) return;
    }
}

}  // namespace

RecordsFeed::RecordsFeed(SliceQueue& slices)
    : slices_(slices), records_(std::max<std::uint64_t>(slices.options().record_bytes, 1)), bytes_(1) {}

RecordsFeed::Format RecordsFeed::format_of(const Slice& slice) {
    if (wq::slices::sources::split_h5_name(slice.work)) return {rows_, records_at_once, ""};
    if (!slice.start) return {bytes_, bytes_at_once, ""};
    if (slices_.options().record_bytes > 0) return {records_, records_at_once, ""};
    return {lines_, records_at_once, "\n"};
}

Status RecordsFeed::feed(const Slice& slice, Pipe pipe) {
    const bool rows = wq::slices::sources::split_h5_name(slice.work).has_value();
    const auto [reader, at_once, end] = format_of(slice);
    try {
        if (!rows && !slice.start && !slices_.is_file(slice)) return success();
        reader.open(slices_, slice);
        feed_records(reader, at_once, end, pipe);
    } catch (const std::exception& error) {
        return Error{ExitCode::bad_input, error.what()};
    }
    return success();
}

}  // namespace wq::programs::slices
