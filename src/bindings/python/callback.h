// A function of Python that threads of the engine call. A thread that needs Python's lock while the
// interpreter ends would be ended inside our code: so no thread needs it only to drop the function.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/text.h"

namespace wq::bindings::python {

inline bool holds_lock_of_python() {
    return PyGILState_GetThisThreadState() != nullptr && PyGILState_Check() != 0;
}

class Callback {
  public:
    // With Python's lock.
    explicit Callback(pybind11::function function)
        : function_(new pybind11::function(std::move(function)), drop) {
        const std::vector<pybind11::function*> dropped = [] {
            const std::lock_guard lock(left().mutex);
            return std::exchange(left().functions, {});
        }();
        for (pybind11::function* const one : dropped) delete one;
    }
    // Empty: the interpreter ends. With Python's lock, which `use` gets the result under.
    template <class Use>
    auto call(const std::string& text, Use use) const -> decltype(use(pybind11::object())) {
#if PY_VERSION_HEX >= 0x030d0000
        if (Py_IsFinalizing() != 0) return {};
#else
        if (_Py_IsFinalizing() != 0) return {};
#endif
        const pybind11::gil_scoped_acquire python;
        return use((*function_)(to_str(text)));
    }

    // For lines to the user; what the function raises is reported, and goes no further.
    void print_line(const std::string& line) const {
        try {
            call(line, [](const pybind11::object&) { return true; });
        } catch (pybind11::error_already_set& error) {
            const pybind11::gil_scoped_acquire python;
            error.discard_as_unraisable("a function for lines of work_queue");
        }
    }

  private:
    struct Left {
        std::mutex mutex;
        std::vector<pybind11::function*> functions;
    };
    static Left& left() {
        static Left& left = *new Left;
        return left;
    }
    static void drop(pybind11::function* last) {
        if (holds_lock_of_python()) {
            delete last;
            return;
        }
        const std::lock_guard lock(left().mutex);
        left().functions.push_back(last);  // the next one drops it
    }

    std::shared_ptr<pybind11::function> function_;
};

// Keeps lines for a Callback while a thread that has Python's lock may wait for the thread that says them.
class HeldLines {
  public:
    explicit HeldLines(Callback say) : say_(std::move(say)) {}
    void print_line(const std::string& line) {
        {
            const std::lock_guard lock(mutex_);
            if (held_) {
                lines_.push_back(line);
                return;
            }
        }
        say_.print_line(line);
    }
    // With Python's lock. Says the kept lines; later ones pass at once.
    void release() {
        const std::vector<std::string> lines = [&] {
            const std::lock_guard lock(mutex_);
            held_ = false;
            return std::exchange(lines_, {});
        }();
        for (const std::string& line : lines) say_.print_line(line);
    }

  private:
    const Callback say_;
    std::mutex mutex_;
    bool held_ = true;
    std::vector<std::string> lines_;
};

}  // namespace wq::bindings::python
