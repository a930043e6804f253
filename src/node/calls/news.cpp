#include "node/calls/news.h"

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

std::optional<News> of_process(News::Kind kind, std::string_view& text) {
    News news;
    news.kind = kind;
    news.pid = take_number<pid_t>(text).value_or(0);
    return news.pid > 0 ? std::optional(std::move(news)) : std::nullopt;
}

std::optional<News> impossible(std::string_view text) {
    News news;
    news.kind = News::Kind::impossible;
    news.count = take_number<std::size_t>(text).value_or(0);
    const auto is_blank = [](char c) { return c >= 0 && c <= ' '; };
    text.remove_prefix(
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_blank) - text.begin()));
    news.why = text.substr(0, longest_reason);
    std::replace_if(news.why.begin(), news.why.end(), is_blank, ' ');
    return news.count > 0 ? std::optional(std::move(news)) : std::nullopt;
}

}  // namespace

std::optional<News> news_in(std::string_view text) {
    const char kind = text.empty() ? '\0' : text.front();
    text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    News news;
    switch (kind) {
        case 'h':
            news.kind = News::Kind::started;
            return news;
        case 'c':
            return of_process(News::Kind::forked, text);
        case 'x':
            return impossible(text);
        case 'e': {
            std::optional<News> ended = of_process(News::Kind::ended, text);
            const std::optional<End> end = ended ? end_in(text) : std::nullopt;
            if (!end) return std::nullopt;
            ended->end = *end;
            return ended;
        }
        case 'n':
            news.kind = News::Kind::imported;
            return news;
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
