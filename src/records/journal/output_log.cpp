#include "records/journal/output_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/bytes.h"
#include "records/journal/append_file.h"
#include "records/journal/records.h"

namespace wq::records::journal {

namespace {

constexpr std::size_t entry_bytes = 48;

void store_u64(char* at, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

std::uint64_t load_u64(const char* at) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<std::uint8_t>(at[i])} << (8 * i);
    return value;
}

std::string encode(const OutputEntry& entry) {
    std::string bytes(entry_bytes, '\0');
    store_u64(bytes.data(), entry.task.value());
    store_u64(bytes.data() + 8, entry.key.value);
    store_u64(bytes.data() + 16, entry.offset);
    store_u64(bytes.data() + 24, entry.length);
    store_u64(bytes.data() + 32,
              entry.attempt | std::uint64_t{static_cast<std::uint8_t>(entry.stream)} << 32);
    store_u64(bytes.data() + 40, entry.checksum);
    const std::uint64_t own = crc32c(std::string_view(bytes).substr(0, entry_bytes - 4));
    store_u64(bytes.data() + 40, entry.checksum | own << 32);
    return bytes;
}

std::optional<OutputEntry> decode(std::string_view bytes) {
    const std::uint64_t checksums = load_u64(bytes.data() + 40);
    if (checksums >> 32 != crc32c(bytes.substr(0, entry_bytes - 4))) return std::nullopt;
    OutputEntry entry;
    entry.checksum = static_cast<std::uint32_t>(checksums);
    entry.task = TaskId(load_u64(bytes.data()));
    entry.key.value = load_u64(bytes.data() + 8);
    entry.offset = load_u64(bytes.data() + 16);
    entry.length = load_u64(bytes.data() + 24);
    entry.attempt = static_cast<Attempt>(load_u64(bytes.data() + 32));
    const auto stream = static_cast<std::uint8_t>(load_u64(bytes.data() + 32) >> 32);
    if (stream != 1 && stream != 2) return std::nullopt;
    entry.stream = static_cast<Stream>(stream);
    return entry;
}

// The line above an entry's data. The key distinguishes tasks of equal number if the list was edited between
// runs.
std::string heading(const OutputEntry& entry) {
    char key[20];
    std::snprintf(key, sizeof key, "%016llx", static_cast<unsigned long long>(entry.key.value));
    return "==> task " + std::to_string(task_number(entry.task)) + " attempt " +
           std::to_string(entry.attempt) + (entry.stream == Stream::out ? " stdout " : " stderr ") +
           std::to_string(entry.length) + " bytes, key " + key + "\n";
}

std::string data_path(const std::string& run_directory) {
    return run_directory + "/output.log";
}
std::string index_path(const std::string& run_directory) {
    return run_directory + "/output.idx";
}

bool data_is_there(std::string_view data, const OutputEntry& entry) {
    if (entry.offset > data.size() || entry.length > data.size() - entry.offset) return false;
    const std::string line = heading(entry);
    return entry.offset >= line.size() && data.substr(entry.offset - line.size(), line.size()) == line &&
           crc32c(data.substr(entry.offset, entry.length)) == entry.checksum;
}

}  // namespace

void OutputBatch::add(const TaskRecord& record, const engine::model::Output& output) {
    add(record, Stream::out, output.out);
    add(record, Stream::err, output.err);
}

void OutputBatch::add(const TaskRecord& record, Stream stream, std::string_view bytes) {
    if (bytes.empty()) return;
    OutputEntry entry{record.task, record.key, record.attempt, stream, 0, bytes.size(), crc32c(bytes)};
    data_ += heading(entry);
    entry.offset = begin_ + data_.size();
    data_ += bytes;
    if (bytes.back() != '\n') data_ += '\n';
    index_ += encode(entry);
}

Result<OutputLog> OutputLog::open(const std::string& run_directory) {
    auto data = AppendFile::open(data_path(run_directory));
    if (!data) return data.error();
    auto index = AppendFile::open(index_path(run_directory));
    if (!index) return index.error();
    if (auto cut = index->cut(index->size() / entry_bytes * entry_bytes); !cut) return cut.error();
    return OutputLog(std::move(*data), std::move(*index));
}

Status OutputLog::sync() {
    auto data = data_.sync();
    if (!data) return data;
    return index_.sync();
}

Result<TaskOutput> read_task_output(const std::string& run_directory, TaskId task,
                                    std::optional<TaskKey> key) {
    const auto index = MappedFile::open(index_path(run_directory));
    if (!index) return index.error();
    const auto data = MappedFile::open(data_path(run_directory));
    if (!data) return data.error();
    TaskOutput output;
    std::optional<OutputEntry> found;
    std::string_view rest = index->bytes();
    for (; rest.size() >= entry_bytes; rest.remove_prefix(entry_bytes)) {
        if (load_u64(rest.data() + (key ? 8 : 0)) != (key ? key->value : task.value())) continue;
        const auto entry = decode(rest.substr(0, entry_bytes));
        if (!entry || !data_is_there(data->bytes(), *entry)) continue;
        const bool same = found && entry->task == found->task && entry->key == found->key &&
                          entry->attempt == found->attempt;
        if (!same) output = {entry->attempt, {}, {}};
        found = entry;
        std::string& stream = entry->stream == Stream::out ? output.out : output.err;
        stream = data->bytes().substr(entry->offset, entry->length);
    }
    return output;
}

}  // namespace wq::records::journal
