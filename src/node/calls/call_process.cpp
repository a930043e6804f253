#include "node/calls/call_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "node/process/passed_descriptors.h"

namespace wq::node::calls {

namespace {

// Fields end with a NUL, which no name and no variable has.
std::string to_bytes(const Request& request) {
    std::string text = request.shared ? "shared" : "own";
    text += '\0' + request.directory + '\0' + request.group + '\0' + request.cores + '\0';
    for (const std::string& entry : request.environment) text += entry + '\0';
    return text;
}

// Of the first bytes of a memory.
Descriptor copy_of(const Descriptor& memory, std::uint64_t bytes) {
    Descriptor copy(memfd_create("arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    off_t at = 0;
    while (copy.valid() && static_cast<std::uint64_t>(at) < bytes)
        if (sendfile(copy.get(), memory.get(), &at, bytes - static_cast<std::uint64_t>(at)) <= 0)
            return Descriptor();
    return copy;
}

void add(rusage& sum, const rusage& usage) {
    timeradd(&sum.ru_utime, &usage.ru_utime, &sum.ru_utime);
    timeradd(&sum.ru_stime, &usage.ru_stime, &sum.ru_stime);
    sum.ru_inblock += usage.ru_inblock;
    sum.ru_oublock += usage.ru_oublock;
    sum.ru_nvcsw += usage.ru_nvcsw;
    sum.ru_nivcsw += usage.ru_nivcsw;
}

}  // namespace

CallProcess::Given CallProcess::give(std::unique_ptr<Request>& request) {
    if (request->not_copied != 0) {
        errno = request->not_copied;
        return Given::impossible;
    }
    const std::string bytes = to_bytes(*request);
    const std::array files{request->arguments.get(), request->result.get(), request->out.get(),
                           request->err.get()};
    if (process::send_descriptors(socket_.get(), std::as_bytes(std::span(bytes)), files, MSG_DONTWAIT)) {
        request_ = std::move(request);
        used_ = true;
        ++request_->processes;
        return Given::yes;
    }
    if (errno != EPIPE && errno != ECONNRESET) return Given::impossible;
    dismiss();
    return Given::gone;
}

std::optional<PythonCallEnd> CallProcess::receive() {
    std::array<char, 256> text;
    ssize_t got = 0;
    do got = recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got <= 0) {
        dismiss();
        ended_since_ = instant_now();
        return std::nullopt;
    }
    std::optional<PythonCallEnd> end =
        request_ ? end_in({text.data(), static_cast<std::size_t>(got)}) : std::nullopt;
    if (end) {
        since_ = instant_now();
        add(told_, end->usage);
    }
    return end;
}

void CallProcess::subtract_told(rusage& usage) const {
    timersub(&usage.ru_utime, &told_.ru_utime, &usage.ru_utime);
    timersub(&usage.ru_stime, &told_.ru_stime, &usage.ru_stime);
    usage.ru_inblock -= told_.ru_inblock;
    usage.ru_oublock -= told_.ru_oublock;
    usage.ru_nvcsw -= told_.ru_nvcsw;
    usage.ru_nivcsw -= told_.ru_nivcsw;
}

// The process appends its id to the arguments before it begins the call.
bool CallProcess::has_begun() const {
    std::int32_t pid = 0;
    return request_ && pread(request_->arguments.get(), &pid, sizeof pid,
                             static_cast<off_t>(request_->size)) == sizeof pid;
}

// To a memory that must not grow, nothing can be appended.
std::unique_ptr<Request> CallProcess::take_away() {
    if (!request_) return nullptr;
    if (fcntl(request_->arguments.get(), F_ADD_SEALS, F_SEAL_GROW) != 0 || has_begun()) return nullptr;
    request_->arguments = copy_of(request_->arguments, request_->size);
    request_->not_copied = request_->arguments.valid() ? 0 : errno;
    return std::move(request_);
}

namespace {

constexpr long most_told = 100'000'000'000'000;  // 3 years of microseconds; many of them can be added
constexpr std::size_t longest_reason = 500;

// Takes a number, after blanks. nullopt: there is none.
template <class T>
std::optional<T> take_number(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

std::optional<InterpreterReport> of_process(InterpreterReport::Kind kind, std::string_view& text) {
    InterpreterReport report;
    report.kind = kind;
    report.pid = take_number<pid_t>(text).value_or(0);
    return report.pid > 0 ? std::optional(std::move(report)) : std::nullopt;
}

std::optional<InterpreterReport> impossible(std::string_view text) {
    InterpreterReport report;
    report.kind = InterpreterReport::Kind::impossible;
    report.count = take_number<std::size_t>(text).value_or(0);
    const auto is_blank = [](char c) { return c >= 0 && c <= ' '; };
    text.remove_prefix(
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_blank) - text.begin()));
    report.why = text.substr(0, longest_reason);
    std::replace_if(report.why.begin(), report.why.end(), is_blank, ' ');
    return report.count > 0 ? std::optional(std::move(report)) : std::nullopt;
}

}  // namespace

std::optional<InterpreterReport> report_in(std::string_view text) {
    const char kind = text.empty() ? '\0' : text.front();
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    InterpreterReport report;
    switch (kind) {
        case 'h':
            report.kind = InterpreterReport::Kind::started;
            return report;
        case 'c':
            return of_process(InterpreterReport::Kind::forked, text);
        case 'x':
            return impossible(text);
        case 'e': {
            std::optional<InterpreterReport> ended = of_process(InterpreterReport::Kind::ended, text);
            const std::optional<PythonCallEnd> end = ended ? end_in(text) : std::nullopt;
            if (!end) return std::nullopt;
            ended->end = *end;
            return ended;
        }
        case 'n':
            report.kind = InterpreterReport::Kind::imported;
            return report;
        default:
            return std::nullopt;
    }
}

std::optional<PythonCallEnd> end_in(std::string_view text) {
    const auto status = take_number<int>(text);
    std::array<long, 7> figures{};
    for (long& figure : figures) {
        const auto number = take_number<long>(text);
        if (!status || !number) return std::nullopt;
        figure = std::clamp(*number, 0L, most_told);
    }
    PythonCallEnd end;
    end.status = *status;
    const auto& [user, system, peak, read, written, voluntary, involuntary] = figures;
    end.usage.ru_utime = {user / 1000000, user % 1000000};
    end.usage.ru_stime = {system / 1000000, system % 1000000};
    end.usage.ru_maxrss = peak;
    end.usage.ru_inblock = read;
    end.usage.ru_oublock = written;
    end.usage.ru_nvcsw = voluntary;
    end.usage.ru_nivcsw = involuntary;
    return end;
}

}  // namespace wq::node::calls
