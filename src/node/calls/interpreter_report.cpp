#include "node/calls/interpreter_report.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace wq::node::calls {

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
            const std::optional<End> end = ended ? end_in(text) : std::nullopt;
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

std::optional<End> end_in(std::string_view text) {
    const auto status = take_number<int>(text);
    std::array<long, 7> figures{};
    for (long& figure : figures) {
        const auto number = take_number<long>(text);
        if (!status || !number) return std::nullopt;
        figure = std::clamp(*number, 0L, most_told);
    }
    End end;
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
