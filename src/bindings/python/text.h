// Text of Python programs: a str is bytes in the encoding of file names, where bytes that are no text are
// kept
// ("surrogateescape"), so that names and outputs of any bytes pass unchanged. bytes and os.PathLike are
// taken, too; for others Python's own TypeError or ValueError is raised.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace wq::bindings::python {

struct Text {
    std::string bytes;
    operator const std::string&() const { return bytes; }
};

inline pybind11::str to_str(std::string_view bytes) {
    PyObject* text =
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
    if (text == nullptr) throw pybind11::error_already_set();
    return pybind11::reinterpret_steal<pybind11::str>(text);
}

}  // namespace wq::bindings::python

namespace pybind11::detail {

template <>
struct type_caster<wq::bindings::python::Text> {
    PYBIND11_TYPE_CASTER(wq::bindings::python::Text, const_name("Union[str, bytes, os.PathLike]"));

    bool load(handle from, bool) {
        PyObject* path = PyOS_FSPath(from.ptr());
        if (path == nullptr) throw error_already_set();
        const auto held = reinterpret_steal<object>(path);
        if (PyBytes_Check(path)) {
            value.bytes = std::string(reinterpret_borrow<bytes>(path));
            return true;
        }
        const auto encoded =
            reinterpret_steal<object>(PyUnicode_AsEncodedString(path, "utf-8", "surrogateescape"));
        if (!encoded) throw error_already_set();
        value.bytes = std::string(reinterpret_borrow<bytes>(encoded));
        return true;
    }
    static handle cast(const wq::bindings::python::Text& text, return_value_policy, handle) {
        return wq::bindings::python::to_str(text.bytes).release();
    }
};

}  // namespace pybind11::detail
