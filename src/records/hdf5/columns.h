// The columns of datasets in stats.h5. Rows are plain structs of fixed width, so a row has the same bytes in
// memory and in the file. The tables in schema.h define struct, dataset and user guide together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "engine/model/outcome.h"

namespace wq::records::hdf5 {

// At most N bytes of UTF-8, padded with NULs; longer text is cut between characters.
template <std::size_t N>
struct Text {
    char bytes[N] = {};

    Text() = default;
    Text(std::string_view text) {  // NOLINT: implicit by design, rows are filled from strings
        std::size_t n = std::min(text.size(), N);
        while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
        std::memcpy(bytes, text.data(), n);
    }
    Text(const std::string& text) : Text(std::string_view(text)) {}  // NOLINT
    std::string_view view() const {
        return {bytes, static_cast<std::size_t>(std::find(bytes, bytes + N, '\0') - bytes)};
    }
};

enum class Flag : std::uint8_t { no = 0, yes = 1 };
enum class Direction : std::uint8_t { input = 0, output = 1 };

enum class ColumnType : std::uint8_t { u64, i64, u32, i32, u16, f64, text, flag, ending, direction };

template <class T>
inline constexpr ColumnType column_type = ColumnType::text;
template <>
inline constexpr ColumnType column_type<std::uint64_t> = ColumnType::u64;
template <>
inline constexpr ColumnType column_type<std::int64_t> = ColumnType::i64;
template <>
inline constexpr ColumnType column_type<std::uint32_t> = ColumnType::u32;
template <>
inline constexpr ColumnType column_type<std::int32_t> = ColumnType::i32;
template <>
inline constexpr ColumnType column_type<std::uint16_t> = ColumnType::u16;
template <>
inline constexpr ColumnType column_type<double> = ColumnType::f64;
template <>
inline constexpr ColumnType column_type<Flag> = ColumnType::flag;
template <>
inline constexpr ColumnType column_type<Direction> = ColumnType::direction;
template <>
inline constexpr ColumnType column_type<engine::model::Ending> = ColumnType::ending;

struct Column {
    const char* name;
    ColumnType type;
    std::size_t offset;  // in the row
    std::size_t bytes;
    const char* unit;  // "1": no unit
    const char* meaning;
};

struct Schema {
    const char* name;  // of the dataset, without its slash
    const char* meaning;
    std::size_t row_bytes;
    std::size_t chunk_rows;
    std::span<const Column> columns;
};

}  // namespace wq::records::hdf5
