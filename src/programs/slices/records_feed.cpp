#include "programs/slices/records_feed.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "engine/model/outcome.h"
#include "node/process/path_lookup.h"
#include "node/process/task_environment.h"
#include "slices/sources/h5_name.h"

namespace wq::programs::slices {

namespace {

constexpr std::size_t records_at_once = 4096;
constexpr std::size_t bytes_at_once = std::size_t{256} << 10;

// Returns false when nobody reads any more.
bool write_all(RecordsFeed::Output output, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(output.write_end, bytes.data(), bytes.size());
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
        if (written >= 0 || errno == EINTR) continue;
        if (errno != EAGAIN) return false;
        std::array<pollfd, 2> ready{pollfd{output.write_end, POLLOUT, 0},
                                    pollfd{output.reader_ended, POLLIN, 0}};
        ::poll(ready.data(), ready.size(), -1);
        if (ready[1].revents != 0) return false;
    }
    return true;
}

// Each value with `end` after it.
void feed_records(SliceReader& reader, std::size_t at_once, std::string_view end,
                  RecordsFeed::Output output) {
    std::string bytes;
    for (;;) {
        const RecordValues values = reader.read_up_to(at_once).values;
        if (values.empty()) return;
        if (end.empty()) {  // nothing is between them
            const std::string_view last = values[values.size() - 1];
            if (!write_all(output, {values[0].data(), last.data() + last.size()})) return;
            continue;
        }
        bytes.clear();
        for (const std::string_view value : values) bytes.append(value).append(end);
        if (!write_all(output, bytes)) return;
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

Status RecordsFeed::feed(const Slice& slice, Output output) {
    const bool rows = wq::slices::sources::split_h5_name(slice.work).has_value();
    const auto [reader, at_once, end] = format_of(slice);
    try {
        if (!rows && !slice.start && !slices_.is_file(slice)) return success();
        reader.open(slices_, slice);
        feed_records(reader, at_once, end, output);
    } catch (const std::exception& error) {
        return Error{ExitCode::bad_input, error.what()};
    }
    return success();
}

namespace {

constexpr std::string_view of_a_slice[] = {
    "SLICE_WORK=", "SLICE_START=", "SLICE_END=", "SLICE_EPOCH=", "SLICE_RANK=", "SLICE_POSITION="};

// A run may be a command of another one, whose slice is none of its commands' business.
std::vector<std::string> without_slice(std::vector<std::string> entries) {
    std::erase_if(entries, [](const std::string& entry) {
        return std::any_of(std::begin(of_a_slice), std::end(of_a_slice),
                           [&](std::string_view name) { return entry.starts_with(name); });
    });
    return entries;
}

std::string replaced(std::string word, const std::string& name) {
    constexpr std::string_view place = "{}";
    for (std::size_t at = word.find(place); at != std::string::npos; at = word.find(place, at + name.size()))
        word.replace(at, place.size(), name);
    return word;
}

std::string text_of(int error_number) {
    return std::generic_category().message(error_number);
}

std::string end_of(std::optional<int> status) {
    if (!status) return "the exit code is unknown: the process that starts commands was killed";
    if (WIFSIGNALED(*status)) return "killed by " + engine::model::signal_name(WTERMSIG(*status));
    return WEXITSTATUS(*status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(*status));
}

}  // namespace

SliceCommand::SliceCommand(std::vector<std::string> command, int rank)
    : command_(std::move(command)), rank_(std::to_string(rank)), host_({.program = "work_queue_slices"}) {
    const node::process::BaseEnvironment base(::environ, {});
    environment_ = without_slice(base.entries());
    path_ = base.value("PATH");
}

node::process::CommandLine SliceCommand::line_of(const Slice& slice) const {
    node::process::CommandLine line;
    for (const std::string& word : command_) line.words.push_back(replaced(word, slice.text()));
    line.environment = environment_;
    const std::array values{slice.work,
                            slice.start ? std::to_string(*slice.start) : std::string(),
                            slice.end ? std::to_string(*slice.end) : std::string(),
                            std::to_string(slice.epoch),
                            rank_,
                            std::to_string(slice.position)};
    for (std::size_t n = 0; n < values.size(); ++n)
        line.environment.push_back(std::string(of_a_slice[n]) + values[n]);
    return line;
}

std::string SliceCommand::problem() const {
    const std::string& name = command_.front();
    if (name.find("{}") != std::string::npos) return {};
    const auto found = node::process::PathLookup::search(path_, name);
    int why = found.denied ? EACCES : ENOENT;
    if (!found.file.empty()) why = ::access(found.file.c_str(), X_OK) == 0 ? 0 : errno;
    if (why == 0) return {};
    const bool is_a_line = name.find(' ') != std::string::npos;
    return "cannot run " + name + ": " + text_of(why) +
           (is_a_line ? " (give a command and its arguments as words, or: sh -c '...')" : "");
}

std::string SliceCommand::run(const Slice& slice, RecordsFeed& records) {
    node::process::CommandLine line = line_of(slice);
    const auto found = node::process::PathLookup::search(path_, line.words.front());
    const auto cannot_run = [&](const std::string& why) {
        return "cannot run " + line.words.front() + ": " + why;
    };
    if (found.file.empty()) return cannot_run(text_of(found.denied ? EACCES : ENOENT));
    line.file = found.file;

    Pipe input = open_pipe();
    if (!input.valid()) return "cannot make a pipe: " + text_of(errno);
    if (const Status started = host_.start(line, input.read.get()); !started)
        return cannot_run(started.error().message);
    input.read.reset();
    set_nonblocking(input.write);
    const Status fed = records.feed(slice, {input.write.get(), host_.descriptor()});
    if (!fed) {  // it must not take what it got for all there is
        host_.end_command();
        return fed.error().message;
    }
    input.write.reset();
    return end_of(host_.wait());
}

}  // namespace wq::programs::slices
