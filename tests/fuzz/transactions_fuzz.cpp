// Any text is a transactions log or rejected in one line; what was read has its times in order.
// are in order.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "views/transactions_reader.h"

namespace {

using wq::fuzz::require;

void check(const std::string& text) {
    const auto all = wq::views::read_transactions(text, "log");
    if (!all) {
        const std::string& error = all.error().message;
        require(error.starts_with("log:") && error.find('\n') == std::string::npos, "an error is one line");
        return;
    }
    for (const wq::views::Attempt& one : all->attempts) {
        require(one.category < all->categories.size() && one.outcome < all->outcomes.size(),
                "names are there");
        require(one.worker < all->workers.size() && one.slot < all->workers[one.worker].slots,
                "its slot is there");
        require(all->begin <= one.waiting && one.waiting <= one.input && one.input <= one.started &&
                    one.started <= one.output && one.output <= one.ended && one.ended <= all->end,
                "times are in order");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    check(bytes);
    // Each byte is a line of a log with few tasks and workers.
    std::string text = "1 1 MANAGER START\n";
    std::int64_t now = 10;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        const std::string task = std::to_string(byte >> 6);
        const std::string worker = "w:" + std::to_string(byte >> 4 & 3);
        const std::string lines[] = {
            "TASK " + task + " WAITING c R {}",
            "TASK " + task + " RUNNING " + worker + " R {}",
            "TASK " + task + " WAITING_RETRIEVAL " + worker,
            "TASK " + task + " RETRIEVED SUCCESS 0 {} {\"wall_time\":[0.00001,\"s\"]}",
            "TASK " + task + " DONE SUCCESS 1 {} {}",
            "TASK " + task + " CANCELED",
            "TRANSFER INPUT " + task + " 0 0 0.00001 f",
            "TRANSFER OUTPUT " + task + " 0 0 0.00001 f",
            "WORKER i " + worker + " CONNECTION",
            "WORKER i " + worker + " DISCONNECTION UNKNOWN",
            "MANAGER START",
            "MANAGER END",
            "TASK 0-" + task + " WAITING r R {}",
            "TASK 0-" + task + " DONE SUCCESS 0 {} {\"tasks\":[2,\"t\"],\"wall_time\":[9,\"s\"]} " + worker,
            "CATEGORY c MAX {}",
            "TASK 0 NEW"};
        text += std::to_string(now += byte >> 5) + " 1 " + lines[byte & 15] + "\n";
    }
    check(text);
    return 0;
}
