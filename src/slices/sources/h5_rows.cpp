#include "slices/sources/h5_rows.h"

#include <hdf5.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "records/hdf5/h5_library.h"
#include "records/hdf5/h5_reader.h"

namespace wq::slices::sources {

namespace {

constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << 32;
constexpr std::uint64_t least_cache_bytes = std::uint64_t{1} << 20;  // HDF5's own default
constexpr std::uint64_t most_cache_bytes = std::uint64_t{256} << 20;

// nullopt: more than `most`.
std::optional<std::uint64_t> product(const std::vector<std::uint64_t>& factors, std::uint64_t most) {
    std::uint64_t all = 1;
    if (std::find(factors.begin(), factors.end(), 0u) != factors.end()) return 0;
    for (const std::uint64_t factor : factors) {
        if (factor > most / all) return std::nullopt;
        all *= factor;
    }
    return all;
}

// Chunks side by side in a band of rows, all of which a slice of rows needs.
std::uint64_t chunks_abreast(const std::vector<std::uint64_t>& shape, const std::vector<hsize_t>& chunk) {
    std::uint64_t chunks = 1;
    for (std::size_t n = 0; n < shape.size() && chunks > 0; ++n) {
        const std::uint64_t here = shape[n] == 0 ? 0 : (shape[n] - 1) / chunk[n + 1] + 1;
        chunks = here > most_cache_bytes / chunks ? most_cache_bytes : chunks * here;
    }
    return chunks;
}

// "": this HDF5 library can decompress the dataset.
std::string missing_filter(const records::hdf5::H5Handle& creation) {
    const int count = H5Pget_nfilters(creation.id());
    for (unsigned n = 0; static_cast<int>(n) < count; ++n) {
        std::array<char, 80> name{};
        std::size_t values = 0;
        unsigned flags = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(creation.id(), n, &flags, &values, nullptr, name.size(), name.data(), nullptr);
        if (filter >= 0 && H5Zfilter_avail(filter) <= 0)
            return "filter " + std::to_string(filter) + " (" + name.data() + ")";
    }
    return {};
}

}  // namespace

Result<H5Rows> H5Rows::open(const H5Name& name, const std::optional<SourceStamp>& planned) {
    const records::hdf5::H5Turn turn;
    H5Rows rows(name);
    if (const Status file = rows.open_file(name.file, planned); !file) return file.error();
    if (const Status dataset = rows.open_dataset(name.dataset); !dataset) return dataset.error();
    if (const Status fresh = rows.refresh(); !fresh) return fresh.error();
    if (const Status shape = rows.find_shape(); !shape) return shape.error();
    if (const Status type = rows.find_type(); !type) return type.error();
    if (const Status chunks = rows.find_chunks(name.dataset); !chunks) return chunks.error();
    if (planned) {
        if (planned->growing && rows.open_before_ && rows.rows() < planned->records)
            return rows.refused("this program opened the file when the dataset had " +
                                count_of(rows.rows(), "row") +
                                "; close all readers of the file to see later rows");
        if (const Status same = check_unchanged(rows.name_, *planned, rows.stamp_); !same)
            return same.error();
    }
    return rows;
}

Status H5Rows::open_file(const std::string& path, const std::optional<SourceStamp>& planned) {
    const auto source = SourceFile::open(path, planned);
    if (!source) return source.error();
    records::hdf5::H5Opened opened = records::hdf5::h5_open_for_reading(path);
    if (!opened.file.ok())
        return source->unreadable(records::hdf5::is_hdf5(path) ? opened.why : "it is not an HDF5 file");
    stamp_ = source->stamp(0);
    stamp_.growing = opened.being_written;
    file_ = std::move(opened.file);
    return success();
}

Status H5Rows::open_dataset(const std::string& path) {
    if (path.find('\0') != std::string::npos) return refused("its name has a NUL byte");
    const records::hdf5::H5Handle object(H5Oopen(file_.id(), path.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object.ok()) return no_dataset(path);
    if (H5Iget_type(object.id()) != H5I_DATASET)
        return refused(H5Iget_type(object.id()) == H5I_GROUP ? "it is a group, not a dataset"
                                                             : "it is a type, not a dataset");
    dataset_ = records::hdf5::H5Handle(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
    return dataset_.ok() ? success() : Status(refused(records::hdf5::h5_last_error()));
}

Error H5Rows::no_dataset(const std::string& path) const {
    const std::string why = records::hdf5::h5_last_error();  // before the next call clears it
    if (H5Lexists(file_.id(), path.c_str(), H5P_DEFAULT) > 0) return refused("it cannot be opened: " + why);
    return refused("the file has no such dataset");
}

// What the library remembers of a file that this process has open already may be old. But after a refresh of
// a dataset that is open twice, HDF5 1.10.8 reads wrong rows: those of the first chunk, again and again.
Status H5Rows::refresh() {
    open_before_ = H5Fget_obj_count(file_.id(), H5F_OBJ_DATASET) > 1;
    if (!stamp_.growing || open_before_ || H5Drefresh(dataset_.id()) >= 0) return success();
    return refused(records::hdf5::h5_last_error());
}

Status H5Rows::find_shape() {
    file_space_ = records::hdf5::H5Handle(H5Dget_space(dataset_.id()), H5Sclose);
    const H5S_class_t kind = file_space_.ok() ? H5Sget_simple_extent_type(file_space_.id()) : H5S_NO_CLASS;
    if (kind == H5S_SCALAR) return refused("it is a scalar, without rows");
    if (kind == H5S_NULL) return refused("it has no shape (a null dataspace), and so no rows");
    const int dimensions = kind == H5S_SIMPLE ? H5Sget_simple_extent_ndims(file_space_.id()) : -1;
    std::vector<hsize_t> lengths(dimensions > 0 ? static_cast<std::size_t>(dimensions) : 0);
    if (lengths.empty() || H5Sget_simple_extent_dims(file_space_.id(), lengths.data(), nullptr) < 0)
        return refused(records::hdf5::h5_last_error());
    stamp_.records = lengths[0];
    type_.shape.assign(lengths.begin() + 1, lengths.end());
    return success();
}

Status H5Rows::find_type() {
    const records::hdf5::H5Handle type(H5Dget_type(dataset_.id()), H5Tclose);
    if (!type.ok()) return refused(records::hdf5::h5_last_error());
    auto elements = h5_elements_of(type);
    if (!elements)
        return refused("its elements are of the type " + elements.error().message +
                       "; supported are integers of 8 to 64 bits, floats of 16 to 64 bits, and strings");
    type_.element = elements->element;
    type_.element_bytes = elements->bytes;
    memory_type_ = std::move(elements->memory_type);
    const std::uint64_t least = type_.element == Element::any_text ? sizeof(char*) : type_.element_bytes;
    const auto count = product(type_.shape, most_row_bytes / std::max<std::uint64_t>(least, 1));
    if (!count) return refused("a row (" + type_.text() + ") has more than 4 GiB");
    type_.elements = *count;
    return success();
}

Status H5Rows::find_chunks(const std::string& path) {
    const records::hdf5::H5Handle creation(H5Dget_create_plist(dataset_.id()), H5Pclose);
    if (!creation.ok()) return refused(records::hdf5::h5_last_error());
    if (H5Pget_layout(creation.id()) != H5D_CHUNKED) return success();
    std::vector<hsize_t> chunk(type_.shape.size() + 1);
    if (H5Pget_chunk(creation.id(), static_cast<int>(chunk.size()), chunk.data()) < 0)
        return refused(records::hdf5::h5_last_error());
    if (const std::string filter = missing_filter(creation); !filter.empty())
        return refused("it is compressed by " + filter +
                       ", which this HDF5 library lacks; HDF5_PLUGIN_PATH names the folder of its plugins");
    if (H5Pget_nfilters(creation.id()) == 0) return success();
    return enlarge_cache(path, {chunk.begin(), chunk.end()}, chunks_abreast(type_.shape, chunk));
}

// A chunk that does not fit into the cache is decompressed anew for each slice of it: with chunks of 8 MiB
// and slices of 400 KiB, rows came 20 times as slowly.
Status H5Rows::enlarge_cache(const std::string& path, std::vector<std::uint64_t> chunk,
                             std::uint64_t chunks) {
    constexpr std::uint64_t text_in_file = 16;  // of any length: where it is
    chunk.push_back(chunks);
    chunk.push_back(type_.element == Element::any_text ? text_in_file : type_.element_bytes);
    const std::uint64_t bytes =
        std::max(product(chunk, most_cache_bytes).value_or(most_cache_bytes), least_cache_bytes);
    const std::size_t slots = std::clamp<std::size_t>(chunks * 10, 521, 1'000'003);
    const records::hdf5::H5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
    if (!access.ok() || H5Pset_chunk_cache(access.id(), slots, bytes, 1.0) < 0)
        return refused(records::hdf5::h5_last_error());
    dataset_.close();  // whoever opens it while it is open shares its cache
    dataset_ = records::hdf5::H5Handle(H5Dopen2(file_.id(), path.c_str(), access.id()), H5Dclose);
    return dataset_.ok() ? success() : Status(refused(records::hdf5::h5_last_error()));
}

Status H5Rows::check(Interval range) const {
    if (range.first <= range.end && range.end <= rows()) return success();
    return refused("there are no rows [" + std::to_string(range.first) + ", " + std::to_string(range.end) +
                   "): it has " + count_of(rows(), "row"));
}

bool H5Rows::read_into(void* to, Interval range) {
    // Both spaces have as many dimensions: otherwise the library goes through chunks element by element.
    std::array<hsize_t, H5S_MAX_RANK> start{range.first};
    std::array<hsize_t, H5S_MAX_RANK> lengths{range.size()};
    std::copy(type_.shape.begin(), type_.shape.end(), lengths.begin() + 1);
    const int dimensions = static_cast<int>(type_.shape.size()) + 1;
    if (!memory_space_.ok() || memory_rows_ != range.size())
        memory_space_ =
            records::hdf5::H5Handle(H5Screate_simple(dimensions, lengths.data(), nullptr), H5Sclose);
    memory_rows_ = range.size();
    return memory_space_.ok() &&
           H5Sselect_hyperslab(file_space_.id(), H5S_SELECT_SET, start.data(), nullptr, lengths.data(),
                               nullptr) >= 0 &&
           H5Dread(dataset_.id(), memory_type_.id(), memory_space_.id(), file_space_.id(), H5P_DEFAULT, to) >=
               0;
}

Status H5Rows::read(std::uint64_t first, std::uint64_t end, std::span<char> to) {
    const records::hdf5::H5Turn turn;
    const Interval range{first, end};
    if (auto there = check(range); !there) return there;
    if (type_.element == Element::any_text || to.size() != range.size() * type_.row_bytes())
        return Error{ExitCode::internal, "a buffer of " + count_of(to.size(), "byte") + " for " +
                                             count_of(range.size(), "row") + " of " + type_.text()};
    if (to.empty()) return success();
    records::hdf5::h5_keep_quiet();
    if (!read_into(to.data(), range)) return refused(records::hdf5::h5_last_error());
    return success();
}

Result<std::vector<std::string>> H5Rows::read_texts(std::uint64_t first, std::uint64_t end) {
    const records::hdf5::H5Turn turn;
    const Interval range{first, end};
    if (const Status there = check(range); !there) return there.error();
    if (type_.element != Element::any_text)
        return Error{ExitCode::internal, "rows of " + type_.text() + " are no texts of any length"};
    std::vector<char*> found(range.size() * type_.elements, nullptr);
    std::vector<std::string> texts;
    if (found.empty()) return texts;
    records::hdf5::h5_keep_quiet();
    if (!read_into(found.data(), range)) return refused(records::hdf5::h5_last_error());
    texts.reserve(found.size());
    for (const char* text : found) texts.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(memory_type_.id(), memory_space_.id(), H5P_DEFAULT, found.data());
    return texts;
}

Error H5Rows::refused(const std::string& why) const {
    return {ExitCode::bad_input, "cannot read " + line_for_message(name_, 1000) + ": " + why};
}

}  // namespace wq::slices::sources
