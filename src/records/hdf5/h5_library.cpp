#include "records/hdf5/h5_library.h"

#include <array>
#include <string_view>
#include <type_traits>

#include <hdf5.h>

namespace wq::records::hdf5 {

static_assert(std::is_same_v<hid_t, std::int64_t> && std::is_same_v<herr_t, int>);

namespace {

H5Handle text_type(std::size_t bytes) {
    H5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    if (!type.ok() || H5Tset_size(type.id(), bytes) < 0 || H5Tset_strpad(type.id(), H5T_STR_NULLPAD) < 0 ||
        H5Tset_cset(type.id(), H5T_CSET_UTF8) < 0) {
        return {};
    }
    return type;
}

H5Handle enum_type(hid_t base, std::span<const char* const> names) {
    H5Handle type(H5Tenum_create(base), H5Tclose);
    for (std::size_t i = 0; i < names.size() && type.ok(); ++i) {
        const auto value = static_cast<std::uint8_t>(i);
        if (H5Tenum_insert(type.id(), names[i], &value) < 0) return {};
    }
    return type;
}

H5Handle ending_type() {
    std::array<const char*, engine::model::ending_count> names{};
    for (std::size_t i = 0; i < names.size(); ++i)
        names[i] = engine::model::name_of(static_cast<engine::model::Ending>(i));
    return enum_type(H5T_NATIVE_UINT8, names);
}

H5Handle column_type_of(const Column& column) {
    switch (column.type) {
        case ColumnType::u64:
            return {H5Tcopy(H5T_NATIVE_UINT64), H5Tclose};
        case ColumnType::i64:
            return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
        case ColumnType::u32:
            return {H5Tcopy(H5T_NATIVE_UINT32), H5Tclose};
        case ColumnType::i32:
            return {H5Tcopy(H5T_NATIVE_INT32), H5Tclose};
        case ColumnType::u16:
            return {H5Tcopy(H5T_NATIVE_UINT16), H5Tclose};
        case ColumnType::f64:
            return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
        case ColumnType::text:
            return text_type(column.bytes);
        case ColumnType::ending:
            return ending_type();
        case ColumnType::flag: {
            // As h5py writes a boolean: numpy.bool_ when read.
            constexpr std::array names{"FALSE", "TRUE"};
            return enum_type(H5T_NATIVE_INT8, names);
        }
        case ColumnType::direction: {
            constexpr std::array names{"input", "output"};
            return enum_type(H5T_NATIVE_UINT8, names);
        }
    }
    return {};
}

herr_t innermost(unsigned, const H5E_error2_t* entry, void* text) {
    *static_cast<std::string*>(text) = entry->desc != nullptr ? entry->desc : "";
    return 1;  // stop after the first
}

}  // namespace

H5Handle h5_row_type(const Schema& schema) {
    H5Handle type(H5Tcreate(H5T_COMPOUND, schema.row_bytes), H5Tclose);
    for (const Column& column : schema.columns) {
        const H5Handle member = column_type_of(column);
        if (!type.ok() || !member.ok() || H5Tinsert(type.id(), column.name, column.offset, member.id()) < 0) {
            return {};
        }
    }
    return type;
}

// Of metadata that a live writer changes: one second in all, since the pause doubles from 1 ns. HDF5's 100
// tries at a damaged file would never end.
constexpr unsigned read_attempts = 30;

H5Handle h5_file_access() {
    H5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (!access.ok() || H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) < 0 ||
        H5Pset_file_locking(access.id(), true, true) < 0 ||
        H5Pset_metadata_read_attempts(access.id(), read_attempts) < 0) {
        return {};
    }
    return access;
}

void h5_keep_quiet() {
    H5dont_atexit();  // fails if the library is already running; then it was called before
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

void H5Turn::clear_errors() {
    H5Eclear2(H5E_DEFAULT);
}

std::string h5_last_error() {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
    constexpr std::string_view mark = "error message = '";
    if (const auto at = text.find(mark); at != std::string::npos) {
        text = text.substr(at + mark.size());
        text = text.substr(0, text.find('\''));
    }
    for (char& c : text) {
        if (c == '\n') c = ' ';
    }
    return text.empty() ? "unknown error of HDF5" : text;
}

}  // namespace wq::records::hdf5
