// What an interpreter says, and the figures in it: any bytes are news or rejected, and what was read is the
// same after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "node/calls/news.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using namespace wq::node::calls;

std::string figures(const End& end) {
    const rusage& usage = end.usage;
    std::string text = std::to_string(end.status);
    for (const long figure : {usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec,
                              usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec, usage.ru_maxrss,
                              usage.ru_inblock, usage.ru_oublock, usage.ru_nvcsw, usage.ru_nivcsw}) {
        require(figure >= 0, "usage is not negative");
        text += " " + std::to_string(figure);
    }
    return text;
}

std::string as_text(const News& news) {
    switch (news.kind) {
        case News::Kind::started:
            return "h";
        case News::Kind::forked:
            return "c " + std::to_string(news.pid);
        case News::Kind::impossible:
            return "x " + std::to_string(news.count) + " " + news.why;
        case News::Kind::ended:
            return "e " + std::to_string(news.pid) + " " + figures(news.end);
        case News::Kind::imported:
            return "n";
    }
    return "";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto end = end_in(bytes)) {
        const auto again = end_in(figures(*end));
        require(again && figures(*again) == figures(*end), "figures read the same");
    }
    const auto news = news_in(bytes);
    if (!news) return 0;
    require(news->why.size() <= 500 && news->why.find('\n') == std::string::npos, "a reason is a short line");
    if (news->kind == News::Kind::forked || news->kind == News::Kind::ended)
        require(news->pid > 0, "it names a process");
    const auto again = news_in(as_text(*news));
    require(again && as_text(*again) == as_text(*news), "news read the same");
    return 0;
}
