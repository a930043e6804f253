#include "slices/sources/h5_elements.h"

#include <hdf5.h>

#include <array>
#include <optional>

#include "records/hdf5/h5_library.h"

namespace wq::slices::sources {

namespace {

Error refused(const std::string& type) {
    return {ExitCode::bad_input, type};
}

std::string bits_of(const records::hdf5::H5Handle& type) {
    return std::to_string(8 * H5Tget_size(type.id())) + "-bit ";
}

std::optional<Element> integer_of(const records::hdf5::H5Handle& type) {
    const bool has_sign = H5Tget_sign(type.id()) != H5T_SGN_NONE;
    switch (H5Tget_size(type.id())) {
        case 1:
            return has_sign ? Element::int8 : Element::uint8;
        case 2:
            return has_sign ? Element::int16 : Element::uint16;
        case 4:
            return has_sign ? Element::int32 : Element::uint32;
        case 8:
            return has_sign ? Element::int64 : Element::uint64;
        default:
            return std::nullopt;
    }
}

// As IEEE 754 has it, and numpy's float16; bfloat16 is not.
bool is_half(const records::hdf5::H5Handle& type) {
    std::array<std::size_t, 5> at{};
    return H5Tget_fields(type.id(), &at[0], &at[1], &at[2], &at[3], &at[4]) >= 0 &&
           at == std::array<std::size_t, 5>{15, 10, 5, 0, 10} && H5Tget_ebias(type.id()) == 15;
}

hid_t native_of(Element element) {
    switch (element) {
        case Element::int8:
            return H5T_NATIVE_INT8;
        case Element::int16:
            return H5T_NATIVE_INT16;
        case Element::int32:
            return H5T_NATIVE_INT32;
        case Element::int64:
            return H5T_NATIVE_INT64;
        case Element::uint8:
            return H5T_NATIVE_UINT8;
        case Element::uint16:
            return H5T_NATIVE_UINT16;
        case Element::uint32:
            return H5T_NATIVE_UINT32;
        case Element::uint64:
            return H5T_NATIVE_UINT64;
        case Element::float32:
            return H5T_NATIVE_FLOAT;
        default:
            return H5T_NATIVE_DOUBLE;
    }
}

records::hdf5::H5Handle copy_of(hid_t type) {
    return {H5Tcopy(type), H5Tclose};
}

// The library has no native type for these, but converts between byte orders.
records::hdf5::H5Handle half_type(const records::hdf5::H5Handle& file_type) {
    records::hdf5::H5Handle type = copy_of(file_type.id());
    if (!type.ok() || H5Tset_order(type.id(), H5Tget_order(H5T_NATIVE_DOUBLE)) < 0) return {};
    return type;
}

Result<H5Elements> of(Element element, const records::hdf5::H5Handle& file_type,
                      records::hdf5::H5Handle memory_type) {
    if (!memory_type.ok()) return refused(records::hdf5::h5_last_error());
    return H5Elements{element, element == Element::any_text ? 0 : H5Tget_size(file_type.id()),
                      std::move(memory_type)};
}

Result<H5Elements> integers(const records::hdf5::H5Handle& type) {
    const auto element = integer_of(type);
    if (!element) return refused(bits_of(type) + "integer");
    return of(*element, type, copy_of(native_of(*element)));
}

Result<H5Elements> floats(const records::hdf5::H5Handle& type) {
    const std::size_t bytes = H5Tget_size(type.id());
    if (bytes == 4) return of(Element::float32, type, copy_of(native_of(Element::float32)));
    if (bytes == 8) return of(Element::float64, type, copy_of(native_of(Element::float64)));
    if (bytes == 2 && is_half(type)) return of(Element::float16, type, half_type(type));
    return refused(bits_of(type) + (bytes == 2 ? "float that is not IEEE's" : "float"));
}

Result<H5Elements> enumerators(const records::hdf5::H5Handle& type) {
    const auto element = integer_of(type);
    if (!element) return refused(bits_of(type) + "enumeration");
    return of(*element, type, {H5Tget_native_type(type.id(), H5T_DIR_ASCEND), H5Tclose});
}

Result<H5Elements> texts(const records::hdf5::H5Handle& type) {
    // A type of the same character set as in the file: the library does not convert between them.
    return of(H5Tis_variable_str(type.id()) > 0 ? Element::any_text : Element::text, type,
              copy_of(type.id()));
}

}  // namespace

const char* name_of(Element element) {
    constexpr std::array names{"int8",   "int16",   "int32",   "int64",   "uint8", "uint16",  "uint32",
                               "uint64", "float16", "float32", "float64", "text",  "any_text"};
    return names[static_cast<std::size_t>(element)];
}

std::string H5RowType::text() const {
    std::string text = name_of(element);
    if (element == Element::text) text += std::to_string(element_bytes);
    for (const std::uint64_t length : shape) text += '[' + std::to_string(length) + ']';
    return text;
}

Result<H5Elements> h5_elements_of(const records::hdf5::H5Handle& file_type) {
    switch (H5Tget_class(file_type.id())) {
        case H5T_INTEGER:
            return integers(file_type);
        case H5T_FLOAT:
            return floats(file_type);
        case H5T_ENUM:
            return enumerators(file_type);
        case H5T_STRING:
            return texts(file_type);
        case H5T_COMPOUND:
            return refused("compound");
        case H5T_ARRAY:
            return refused("array");
        case H5T_VLEN:
            return refused("variable-length array");
        case H5T_OPAQUE:
            return refused("opaque");
        case H5T_BITFIELD:
            return refused("bitfield");
        case H5T_REFERENCE:
            return refused("reference");
        case H5T_TIME:
            return refused("time");
        default:
            return refused("unknown to this HDF5 library");
    }
}

}  // namespace wq::slices::sources
