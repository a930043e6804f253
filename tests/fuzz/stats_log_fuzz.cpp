// Any text is a statistics log or rejected in one line; written samples are read back unchanged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "records/hdf5/stats_log.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using namespace wq::records::journal;
using namespace wq::records::hdf5;

void check(const std::string& text) {
    const auto rows = read_stats_log(text, "log");
    if (rows) return;
    const std::string& error = rows.error().message;
    require(error.starts_with("log:") && error.find('\n') == std::string::npos, "an error is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(std::string(bytes));
    check("# timestamp tasks_done bandwidth\n" + std::string(bytes));

    wq::ByteReader in(bytes);
    Sample sample;
    sample.time_us = in.i64();
    sample.stats.tasks_done = in.i64();
    sample.stats.min_disk = in.i64();
    std::string text = stats_log_heading();
    put_stats_line(text, sample);
    const auto rows = read_stats_log(text, "log");
    require(rows && rows->size() == 1, "a row that was written reads");
    require(rows->front().tasks_done == sample.stats.tasks_done &&
                rows->front().min_disk == sample.stats.min_disk,
            "it reads the same");
    return 0;
}
