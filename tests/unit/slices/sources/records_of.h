// What a reader gives, as strings.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "slices/sources/record_reader.h"

namespace wq::slices::sources::testing {

struct Record {
    std::string key;
    std::string value;
    bool operator==(const Record&) const = default;
};

inline std::vector<Record> records_in(const RecordReader& reader, const RecordBlock& block) {
    std::vector<Record> records;
    for (std::size_t n = 0; n < block.size; ++n)
        records.push_back(
            {reader.key_prefix() + std::to_string(block.first + n), std::string(block.value(n))});
    return records;
}

inline std::vector<Record> rest_of(RecordReader& reader, std::size_t at_once) {
    std::vector<Record> all;
    for (;;) {
        const auto block = reader.read(at_once);
        if (!block) ADD_FAILURE() << block.error().message;
        if (!block || block->size == 0) return all;
        EXPECT_LE(block->size, at_once);
        for (Record& record : records_in(reader, *block)) all.push_back(std::move(record));
    }
}

}  // namespace wq::slices::sources::testing
