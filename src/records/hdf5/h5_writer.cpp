#include "records/hdf5/h5_writer.h"

#include <hdf5.h>
#include <unistd.h>

#include <cstring>

#include "records/hdf5/h5_library.h"

namespace wq::records::hdf5 {

Result<H5Writer> H5Writer::create(const std::string& path, const H5Attributes& attributes) {
    const H5Turn turn;
    h5_keep_quiet();
    ::unlink(path.c_str());
    H5Writer writer(path);
    if (!writer.build(attributes)) return writer.give_up();
    return writer;
}

bool H5Writer::build(const H5Attributes& attributes) {
    const H5Handle access = h5_file_access();
    if (!access.ok()) return refused();
    file_ = H5Handle(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
    if (!file_.ok()) return refused();
    for (const auto& [name, value] : attributes) {
        if (!add_attribute(name, value)) return false;
    }
    for (std::size_t i = 0; i < dataset_count; ++i) {
        if (!add_table(schemas()[i], tables_[i])) return false;
    }
    return H5Fstart_swmr_write(file_.id()) >= 0 || refused();
}

bool H5Writer::add_attribute(const std::string& name, const std::string& value) {
    const H5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    const H5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const std::string bytes = value.empty() ? std::string(1, '\0') : value;
    if (!type.ok() || !space.ok() || H5Tset_size(type.id(), bytes.size()) < 0 ||
        H5Tset_strpad(type.id(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.id(), H5T_CSET_UTF8) < 0) {
        return refused();
    }
    const H5Handle attribute(
        H5Acreate2(file_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return (attribute.ok() && H5Awrite(attribute.id(), type.id(), bytes.data()) >= 0) || refused();
}

bool H5Writer::add_table(const Schema& schema, Table& table) {
    const hsize_t none = 0;
    const hsize_t unlimited = H5S_UNLIMITED;
    const hsize_t chunk = schema.chunk_rows;
    table.type = h5_row_type(schema);
    const H5Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose);
    const H5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const H5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    // A chunk must fit its dataset's cache; otherwise every flush reads and writes it row by row.
    if (!table.type.ok() || !space.ok() || !creation.ok() || !access.ok() ||
        H5Pset_chunk(creation.id(), 1, &chunk) < 0 ||
        H5Pset_chunk_cache(access.id(), 101, 2 * schema.chunk_rows * schema.row_bytes, 1.0) < 0) {
        return refused();
    }
    table.dataset = H5Handle(H5Dcreate2(file_.id(), schema.name, table.type.id(), space.id(), H5P_DEFAULT,
                                        creation.id(), access.id()),
                             H5Dclose);
    return table.dataset.ok() || refused();
}

H5Writer::~H5Writer() {
    const H5Turn turn;
    h5_keep_quiet();
    if (failed_) give_up();
}

void H5Writer::append_bytes(Dataset dataset, const void* row, std::size_t bytes) {
    if (failed_) return;
    auto& pending = tables_[static_cast<std::size_t>(dataset)].pending;
    const auto* from = static_cast<const char*>(row);
    pending.insert(pending.end(), from, from + bytes);
}

void H5Writer::overwrite_bytes(Dataset dataset, std::uint64_t index, const void* row, std::size_t bytes) {
    if (failed_) return;
    Table& table = tables_[static_cast<std::size_t>(dataset)];
    const auto* from = static_cast<const char*>(row);
    if (index >= table.written) {
        const auto at = static_cast<std::size_t>(index - table.written) * bytes;
        if (at + bytes <= table.pending.size()) std::memcpy(table.pending.data() + at, from, bytes);
    } else {
        table.rewritten.emplace_back(index, std::vector<char>(from, from + bytes));
    }
}

std::uint64_t H5Writer::bytes_needed() const {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < dataset_count; ++i) {
        if (tables_[i].pending.empty()) continue;
        bytes += tables_[i].pending.size() + schemas()[i].chunk_rows * schemas()[i].row_bytes;
    }
    return bytes;
}

std::uint64_t H5Writer::pending_rows() const {
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < dataset_count; ++i) {
        rows += tables_[i].pending.size() / schemas()[i].row_bytes + tables_[i].rewritten.size();
    }
    return rows;
}

void H5Writer::drop_pending() {
    for (Table& table : tables_) table.pending.clear(), table.rewritten.clear();
}

bool H5Writer::write_rows(Table& table, std::uint64_t first, std::uint64_t count, const char* rows) {
    const hsize_t start = first;
    const hsize_t length = count;
    const H5Handle file_space(H5Dget_space(table.dataset.id()), H5Sclose);
    const H5Handle memory_space(H5Screate_simple(1, &length, nullptr), H5Sclose);
    return (file_space.ok() && memory_space.ok() &&
            H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, &start, nullptr, &length, nullptr) >= 0 &&
            H5Dwrite(table.dataset.id(), table.type.id(), memory_space.id(), file_space.id(), H5P_DEFAULT,
                     rows) >= 0) ||
           refused();
}

bool H5Writer::write_pending(const Schema& schema, Table& table) {
    if (const std::uint64_t count = table.pending.size() / schema.row_bytes; count > 0) {
        const hsize_t extent = table.written + count;
        if (H5Dset_extent(table.dataset.id(), &extent) < 0) return refused();
        if (!write_rows(table, table.written, count, table.pending.data())) return false;
        table.written = extent;
        table.pending.clear();
    }
    for (const auto& [index, row] : table.rewritten) {
        if (!write_rows(table, index, 1, row.data())) return false;
    }
    table.rewritten.clear();
    return true;
}

Status H5Writer::flush() {
    const H5Turn turn;
    if (failed_ || pending_rows() == 0) return success();
    h5_keep_quiet();
    for (std::size_t i = 0; i < dataset_count; ++i) {
        if (!write_pending(schemas()[i], tables_[i])) return give_up();
    }
    // Flush the file, not its datasets: H5Dflush of this version does not flush all metadata.
    if (H5Fflush(file_.id(), H5F_SCOPE_LOCAL) < 0) {
        refused();
        return give_up();
    }
    return success();
}

Status H5Writer::close() {
    const H5Turn turn;
    if (failed_) return success();
    if (auto flushed = flush(); !flushed) return flushed;
    for (Table& table : tables_) {
        if ((!table.dataset.close() || !table.type.close()) && !refused()) return give_up();
    }
    if (!file_.close() && !refused()) return give_up();
    return success();
}

bool H5Writer::refused() {
    if (why_.empty()) why_ = h5_last_error();
    return false;
}

Error H5Writer::give_up() {
    Error error{ExitCode::interrupted, "cannot write " + path_ + ": " + why_};
    failed_ = true;
    file_.abandon();
    for (Table& table : tables_) {
        table.dataset.abandon(), table.type.abandon();
    }
    drop_pending();
    return error;
}

}  // namespace wq::records::hdf5
