#include "slices_program/records_feed.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "sources/h5_name.h"
#include "sources/source_file.h"

namespace wq::slices_program {

namespace {

constexpr std::size_t records_at_once = 4096;

// Returns false when nobody reads any more.
bool write_all(int pipe, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(pipe, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

Status feed_file(const std::string& path, int pipe) {
    const auto file = sources::SourceFile::open(path);
    if (!file) return file.error();
    std::vector<char> block(sources::source_block_bytes);
    for (std::uint64_t offset = 0; offset < file->bytes(); offset += block.size()) {
        block.resize(std::min<std::uint64_t>(block.size(), file->bytes() - offset));
        if (const Status read = file->read(offset, block); !read) return read;
        if (!write_all(pipe, {block.data(), block.size()})) break;
    }
    return success();
}

bool is_url(const std::string& work) {
    return work.find("://") != std::string::npos;
}

// SliceQueue has found that all works are there, or that none of them is a file: so the first one tells.
std::optional<bool> are_files(const std::vector<std::string>& works, const std::string& prefix) {
    struct stat status {};
    for (const std::string& work : works) {
        const std::string name = prefix + work;
        if (!is_url(name)) return name.find('/') != std::string::npos || ::stat(name.c_str(), &status) == 0;
    }
    return std::nullopt;
}

// Each value with `end` after it.
void feed_records(SliceReader& reader, std::string_view end, int pipe) {
    std::string bytes;
    for (;;) {
        const RecordValues values = reader.read_up_to(records_at_once).values;
        if (values.empty()) return;
        bytes.clear();
        for (const std::string_view value : values) bytes.append(value).append(end);
        if (!write_all(pipe, bytes)) return;
    }
}

}  // namespace

RecordsFeed::RecordsFeed(SliceQueue& slices, const Options& options)
    : slices_(slices),
      record_bytes_(options.slices.record_bytes),
      files_(are_files(options.works, options.slices.prefix)),
      records_(std::max<std::uint64_t>(record_bytes_, 1)) {}

Status RecordsFeed::feed_whole(const std::string& work, int pipe) const {
    struct stat status {};
    const bool there = ::stat(work.c_str(), &status) == 0;
    if (there && !S_ISREG(status.st_mode)) return success();
    if (!there && (files_ != true || is_url(work))) return success();
    return feed_file(work, pipe);
}

Status RecordsFeed::feed(const Slice& slice, int pipe) {
    const bool rows = sources::split_h5_name(slice.work).has_value();
    if (!rows && !slice.start) return feed_whole(slice.work, pipe);
    SliceReader& reader = rows                ? static_cast<SliceReader&>(rows_)
                          : record_bytes_ > 0 ? static_cast<SliceReader&>(records_)
                                              : lines_;
    try {
        reader.open(slices_, slice);
        feed_records(reader, rows || record_bytes_ > 0 ? "" : "\n", pipe);
    } catch (const std::exception& error) {
        return Error{ExitCode::bad_input, error.what()};
    }
    return success();
}

}  // namespace wq::slices_program
