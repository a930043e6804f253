#include <hdf5.h>

#include "records/hdf5/h5_open.h"
#include "records/hdf5/h5_turn.h"
#include "records/hdf5/h5_types.h"
#include "records/hdf5/stats_reader.h"

namespace wq::records::hdf5 {

namespace {

H5Handle open_dataset(const H5Handle& file, const Schema& schema) {
    return {H5Dopen2(file.id(), schema.name, H5P_DEFAULT), H5Dclose};
}

Error refused(const std::string& path, const std::string& why) {
    return {ExitCode::bad_input, "cannot read " + path + ": " + why};
}

// Why a dataset cannot be opened: `absent`, or the file is damaged.
Error no_dataset(const std::string& path, const H5Handle& file, const Schema& schema,
                 const std::string& absent) {
    const std::string why = h5_last_error();
    return refused(path,
                   H5Lexists(file.id(), schema.name, H5P_DEFAULT) == 0 ? absent : "it is damaged: " + why);
}

}  // namespace

Result<StatsReader> StatsReader::open(const std::string& path) {
    const H5Turn turn;
    H5Opened opened = h5_open_for_reading(path);
    if (!opened.file.ok()) return refused(path, opened.why);
    const Schema& manager = schema_of(Dataset::manager);
    const H5Handle dataset = open_dataset(opened.file, manager);
    if (!dataset.ok())
        return no_dataset(path, opened.file, manager,
                          "it is no statistics file of a run (no dataset /manager)");
    return StatsReader(path, std::move(opened.file));
}

Result<std::uint64_t> StatsReader::count_rows(Dataset which) const {
    const H5Turn turn;
    h5_keep_quiet();
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    if (!dataset.ok())
        return no_dataset(path_, file_, schema_of(which),
                          std::string("it has no dataset /") + schema_of(which).name);
    if (H5Drefresh(dataset.id()) < 0) return refused(path_, h5_last_error());
    const H5Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const hssize_t count = space.ok() ? H5Sget_simple_extent_npoints(space.id()) : -1;
    if (count < 0) return refused(path_, h5_last_error());
    return static_cast<std::uint64_t>(count);
}

Status StatsReader::read_rows(Dataset which, void* rows, std::uint64_t first, std::uint64_t count) const {
    const H5Turn turn;
    if (count == 0) return success();
    h5_keep_quiet();
    const H5Handle dataset = open_dataset(file_, schema_of(which));
    const H5Handle type = h5_row_type(schema_of(which));
    const H5Handle file_space(dataset.ok() ? H5Dget_space(dataset.id()) : -1, H5Sclose);
    const hsize_t start = first;
    const hsize_t length = count;
    const H5Handle memory_space(H5Screate_simple(1, &length, nullptr), H5Sclose);
    if (!type.ok() || !file_space.ok() || !memory_space.ok() ||
        H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, &start, nullptr, &length, nullptr) < 0 ||
        H5Dread(dataset.id(), type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT, rows) < 0) {
        return refused(path_, h5_last_error());
    }
    return success();
}

std::string StatsReader::attribute(const std::string& name) const {
    const H5Turn turn;
    h5_keep_quiet();
    const H5Handle attribute(H5Aopen(file_.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
    if (!attribute.ok()) return {};
    const H5Handle type(H5Aget_type(attribute.id()), H5Tclose);
    if (!type.ok() || H5Tget_class(type.id()) != H5T_STRING || H5Tis_variable_str(type.id()) > 0) return {};
    std::string value(H5Tget_size(type.id()), '\0');
    if (H5Aread(attribute.id(), type.id(), value.data()) < 0) return {};
    return value.substr(0, value.find('\0'));
}

}  // namespace wq::records::hdf5
