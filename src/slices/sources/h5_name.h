// Names of datasets, "FILE.h5:/path/of/dataset".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wq::slices::sources {

struct H5Name {
    std::string file;
    std::string dataset;  // begins with '/'
    std::string text() const { return file + ':' + dataset; }
    bool operator==(const H5Name&) const = default;
};

// nullopt: it names no dataset. The first ":/" after a file name separates the two, but not a URL's "://". If
// there are several, the first after a suffix of HDF5 files (.h5, .hdf5, .nc, ...) does: folders and groups
// may have a ':' in their names. text() is the inverse.
std::optional<H5Name> split_h5_name(std::string_view name);

}  // namespace wq::slices::sources
