#include "records/journal/text_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "records/journal/mapped_file.h"

namespace wq::records::journal {

namespace {

template <class Number>
void put(std::string& out, Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out.append(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace

namespace {

// The end of the last complete line of a log that begins with the heading; 0 without heading or file.
Result<std::uint64_t> end_of_lines(const std::string& path, std::string_view heading) {
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return std::uint64_t{0};
    const auto file = MappedFile::open(path);
    if (!file) return Error{ExitCode::usage, file.error().message};
    const std::string_view bytes = file->bytes();
    // A crash may have truncated the heading itself.
    if (!bytes.starts_with(heading) && !heading.starts_with(bytes)) {
        return Error{ExitCode::usage, path + " is another kind of file: it does not begin with `" +
                                          std::string(heading.substr(0, heading.find_first_of(" \t\n", 2))) +
                                          " ...`; name a new file"};
    }
    if (bytes.size() < heading.size()) return std::uint64_t{0};
    const auto at = bytes.rfind('\n');
    return std::uint64_t{at == std::string_view::npos ? 0 : at + 1};
}

}  // namespace

Status TextLog::check(const std::string& path, std::string_view heading) {
    const auto end = end_of_lines(path, heading);
    return end ? success() : Status(end.error());
}

Result<TextLog> TextLog::open(const std::string& path, std::string_view heading) {
    const auto end = end_of_lines(path, heading);
    if (!end) return end.error();
    auto file = AppendFile::open(path, *end);
    if (!file) return file.error();
    TextLog log(std::move(*file));
    if (log.file_.size() == 0) log.waiting_ = heading;
    return log;
}

Status TextLog::write() {
    if (!is_open() || waiting_.empty()) {
        waiting_.clear();
        return success();
    }
    auto written = file_.append(waiting_);
    if (written) {
        waiting_.clear();
    } else if (waiting_.size() > most_waiting) {
        return close();
    }
    return written;
}

Status TextLog::rename(const std::string& path) {
    auto done = write();
    if (done) done = file_.rename(path, false);
    if (!done) waiting_.clear(), ended_ = true;
    return done;
}

Status TextLog::close() {
    if (!is_open()) return success();
    auto written = waiting_.empty() ? success() : file_.append(waiting_);
    waiting_.clear();
    ended_ = true;
    if (written) return written;
    return Error{ExitCode::interrupted, written.error().message + "; its last lines are missing"};
}

void put_number(std::string& out, std::int64_t value) {
    put(out, value);
}
void put_number(std::string& out, std::uint64_t value) {
    put(out, value);
}

void put_seconds(std::string& out, std::int64_t micros, int digits) {
    if (micros < 0) out += '-', micros = -micros;
    put(out, micros / 1'000'000);
    char fraction[8];
    std::int64_t rest = micros % 1'000'000;
    for (int i = 5; i >= 0; --i, rest /= 10) fraction[i] = static_cast<char>('0' + rest % 10);
    out += '.';
    out.append(fraction, static_cast<std::size_t>(digits));
}

void put_word(std::string& out, std::string_view text, char replacement) {
    for (const char c : text) out += static_cast<unsigned char>(c) <= ' ' || c == 0x7F ? replacement : c;
}

}  // namespace wq::records::journal
