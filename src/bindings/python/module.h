// Both modules of the package bind the same engine by bind_all(), and each method by bind_method().
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

namespace wq::bindings::python {

void bind_all(pybind11::module_& module, const char* version);

// A parameter in the head of a docstring.
inline std::string shown(const pybind11::arg& parameter) {
    return std::string(", ") + parameter.name;
}
inline std::string shown(const pybind11::arg_v& parameter) {
    return std::string(", ") + parameter.name + "=" + std::string(pybind11::repr(parameter.value));
}

// Binds a method that Python programs call directly. The call is the only place with its name, its parameters
// and the text that help() shows.
//
// The head of the docstring has Python's form for C functions, of which inspect.signature() and help() read
// the parameters. They cannot read pybind11's form.
template <class Class, class Function, class... Parameter>
void bind_method(pybind11::class_<Class>& to, const char* name, Function function, const char* doc,
                 const Parameter&... parameters) {
    pybind11::options options;
    options.disable_function_signatures();
    const std::string head = ((std::string(name) + "(self") + ... + shown(parameters));
    to.def(name, std::move(function), (head + ")\n--\n\n" + doc).c_str(), parameters...);
}

}  // namespace wq::bindings::python
