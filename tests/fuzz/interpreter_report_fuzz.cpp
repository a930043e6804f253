// What an interpreter says, and the figures in it: any bytes are a report or rejected, and what was read is
// the same after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "node/calls/call_process.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using namespace wq::node::calls;

std::string figures(const PythonCallEnd& end) {
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

std::string as_text(const InterpreterReport& report) {
    switch (report.kind) {
        case InterpreterReport::Kind::started:
            return "h";
        case InterpreterReport::Kind::forked:
            return "c " + std::to_string(report.pid);
        case InterpreterReport::Kind::impossible:
            return "x " + std::to_string(report.count) + " " + report.why;
        case InterpreterReport::Kind::ended:
            return "e " + std::to_string(report.pid) + " " + figures(report.end);
        case InterpreterReport::Kind::imported:
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
    const auto report = report_in(bytes);
    if (!report) return 0;
    require(report->why.size() <= 500 && report->why.find('\n') == std::string::npos,
            "a reason is a short line");
    if (report->kind == InterpreterReport::Kind::forked || report->kind == InterpreterReport::Kind::ended)
        require(report->pid > 0, "it names a process");
    const auto again = report_in(as_text(*report));
    require(again && as_text(*again) == as_text(*report), "a report read the same");
    return 0;
}
