// What the rows of an HDF5 dataset are made of: numbers and text. Other types of HDF5 are refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "records/hdf5/h5_library.h"

namespace wq::slices::sources {

enum class Element : std::uint8_t {
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64,
    text,     // all of the same number of bytes, padded as in the file
    any_text  // each of its own length
};
const char* name_of(Element element);  // "int8"

struct H5RowType {
    Element element = Element::int8;
    std::uint64_t element_bytes = 0;   // 0 if any_text
    std::vector<std::uint64_t> shape;  // of a row; empty: one element
    std::uint64_t elements = 1;        // of a row
    std::uint64_t row_bytes() const { return elements * element_bytes; }
    std::string text() const;  // "float32[28][28]"
    bool operator==(const H5RowType&) const = default;
};

struct H5Elements {
    Element element = Element::int8;
    std::uint64_t bytes = 0;              // of one
    records::hdf5::H5Handle memory_type;  // the same in this machine's byte order
};
// Enumerations are the integers that they are stored as, so booleans of h5py are int8. The error is a phrase
// that names the type, "compound".
Result<H5Elements> h5_elements_of(const records::hdf5::H5Handle& file_type);

}  // namespace wq::slices::sources
