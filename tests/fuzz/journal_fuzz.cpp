// Any bytes are a journal, an incomplete one, or rejected in one line; the valid part reads the same again.
// The input is the file itself and, because hardly any bytes have a correct checksum, also the payloads of
// records with one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "records/journal/journal.h"
#include "require.h"

namespace {

using wq::fuzz::require;
using namespace wq::records::journal;

struct Written : JournalVisitor {
    std::string records;
    void task(const TaskRecord& record) override { records += encode_record(record); }
    void worker(const WorkerRecord& record) override { records += encode_record(record); }
    void sample(const Sample& sample) override { records += encode_record(sample); }
    void category(const CategoryRecord& record) override { records += encode_record(record); }
    void ask(const AskRecord& record) override { records += encode_record(record); }
    void worker_change(const WorkerChangeRecord& record) override { records += encode_record(record); }
    void waiting(const WaitingRecord& record) override { records += encode_record(record); }
};

void check(std::string_view bytes) {
    Written first;
    const auto scan = scan_journal_bytes(bytes, "journal", first);
    if (!scan) {
        const std::string& error = scan.error().message;
        require(error.starts_with("journal: ") && error.find('\n') == std::string::npos,
                "an error is one line");
        return;
    }
    require(scan->valid_bytes <= bytes.size(), "the sound part lies within the file");
    require(scan->torn == (scan->valid_bytes < bytes.size()), "what is not sound is torn");
    Written second;
    const auto again = scan_journal_bytes(bytes.substr(0, scan->valid_bytes), "journal", second);
    require(again.ok() && !again->torn && second.records == first.records, "the sound part reads the same");
    Written third;
    const auto copy = scan_journal_bytes(encode_header(scan->header) + first.records, "journal", third);
    require(copy.ok() && !copy->torn && third.records == first.records, "what was written reads the same");
}

std::string record(std::string_view kind_and_payload) {
    const auto length = static_cast<std::uint32_t>(kind_and_payload.size());
    std::string bytes(frame_bytes, '\0');
    store_u32(bytes.data(), length);
    store_u32(bytes.data() + 4, frame_checksum(length, kind_and_payload));
    return bytes.append(kind_and_payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(bytes);
    check(std::string(journal_mark) + std::string(bytes));
    // Split at every byte 0xFF, which ends no relevant payload.
    std::string framed = encode_header({});
    for (std::size_t at = 0; at < size;) {
        const std::size_t end = std::min(bytes.find('\xFF', at), size);
        if (end > at) framed += record(bytes.substr(at, end - at));
        at = end + 1;
    }
    check(framed);
    return 0;
}
