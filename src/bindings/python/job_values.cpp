#include "bindings/python/job_values.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/waits.h"
#include "functions/pool/storage.h"

namespace py = pybind11;

namespace wq::bindings::python {

namespace {

constexpr std::size_t alone_from = 1 << 20;  // a smaller buffer shares an array with others
constexpr std::size_t most_alone = 200;      // a batch has at most 249 arrays in shared memory
constexpr std::size_t alignment = 64;

// Arrays whose memory objects of Python see, by their first byte.
class SeenArrays {
  public:
    struct Seen {
        std::shared_ptr<Array> array;  // null: there is none
        bool is_ours = false;          // came with a batch, and the program may change it
    };
    static SeenArrays& all() {
        static SeenArrays& all = *new SeenArrays;
        return all;
    }
    std::shared_ptr<Array> see(Array array, bool is_ours) {
        const std::byte* const first = array.bytes().data();
        std::shared_ptr<Array> seen(new Array(std::move(array)), [first](Array* last) {
            all().forget(first);
            delete last;
        });
        const std::lock_guard lock(mutex_);
        if (seen->is_shared()) arrays_[first] = {seen, is_ours};
        return seen;
    }
    // The one that has all these bytes.
    Seen find(const std::byte* first, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        auto after = arrays_.upper_bound(first);
        if (after == arrays_.begin()) return {};
        const Known& known = std::prev(after)->second;
        auto found = known.array.lock();
        if (!found || first + bytes > found->bytes().data() + found->bytes().size()) return {};
        return {std::move(found), known.is_ours};
    }

  private:
    struct Known {
        std::weak_ptr<Array> array;
        bool is_ours = false;
    };
    void forget(const std::byte* first) {
        const std::lock_guard lock(mutex_);
        const auto found = arrays_.find(first);
        if (found != arrays_.end() && found->second.array.expired()) arrays_.erase(found);
    }
    std::mutex mutex_;
    std::map<const std::byte*, Known> arrays_;
};

class Viewed {
  public:
    explicit Viewed(const py::handle& object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw py::error_already_set();
    }
    Viewed(Viewed&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    Viewed& operator=(Viewed&&) = delete;
    ~Viewed() {
        if (view_.obj != nullptr) PyBuffer_Release(&view_);
    }
    const std::byte* data() const { return static_cast<const std::byte*>(view_.buf); }
    std::size_t size() const { return static_cast<std::size_t>(view_.len); }

  private:
    Py_buffer view_{};
};

struct Place {
    std::uint64_t array = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

// Where each buffer lies, and the arrays.
class Packer {
  public:
    Packer(const py::list& buffers, bool gives_up) : gives_up_(gives_up) {
        for (const py::handle& buffer : buffers) views_.emplace_back(buffer);
        for (const Viewed& view : views_) place(view);
    }
    Batch batch(std::string pickled) {
        without_lock([this] {
            copy();
            return true;
        });
        Batch batch;
        batch.set("pickled", std::move(pickled));
        batch.set("places",
                  std::string(reinterpret_cast<const char*>(places_.data()), places_.size() * sizeof(Place)));
        for (std::size_t at = 0; at < arrays_.size(); ++at)
            batch.set(std::to_string(at), std::move(arrays_[at]));
        return batch;
    }

  private:
    void place(const Viewed& view) {
        if (view.size() >= alone_from && add_as_it_is(view)) return;
        copied_.push_back(places_.size());
        if (view.size() >= alone_from && arrays_.size() < most_alone)
            return add(Array::of<std::uint8_t>({view.size()}), 0, view.size());
        packed_.push_back(places_.size());
        places_.push_back({0, together_, view.size()});
        together_ += (view.size() + alignment - 1) / alignment * alignment;
    }
    bool add_as_it_is(const Viewed& view) {
        const auto seen = SeenArrays::all().find(view.data(), view.size());
        if (!seen.array || (seen.is_ours && !gives_up_)) return false;
        const std::byte* const first = seen.array->bytes().data();
        const auto offset = static_cast<std::uint64_t>(view.data() - first);
        const auto [known, is_new] = as_they_are_.try_emplace(first, arrays_.size());
        if (!is_new) {
            places_.push_back({known->second, offset, view.size()});
        } else if (arrays_.size() < most_alone) {
            add(*seen.array, offset, view.size());
        } else {
            as_they_are_.erase(known);
            return false;
        }
        return true;
    }
    void add(Array array, std::uint64_t offset, std::uint64_t bytes) {
        places_.push_back({arrays_.size(), offset, bytes});
        arrays_.push_back(std::move(array));
    }
    void copy() {
        if (!packed_.empty()) {
            for (const std::size_t one : packed_) places_[one].array = arrays_.size();
            arrays_.push_back(Array::of<std::uint8_t>({together_}));
        }
        for (const std::size_t one : copied_) {
            const Place& place = places_[one];
            if (place.bytes > 0)
                std::memcpy(arrays_[place.array].mutable_bytes().data() + place.offset, views_[one].data(),
                            place.bytes);
        }
    }

    const bool gives_up_;
    std::vector<Viewed> views_;
    std::vector<Place> places_;
    std::vector<Array> arrays_;
    std::map<const std::byte*, std::uint64_t> as_they_are_;  // numbers of arrays, by their first bytes
    std::vector<std::size_t> copied_;
    std::vector<std::size_t> packed_;
    std::uint64_t together_ = 0;
};

}  // namespace

Batch to_batch(const py::bytes& pickled, const py::list& buffers, bool gives_up) {
    Packer packer(buffers, gives_up);
    return packer.batch(std::string(pickled));
}

py::tuple from_batch(Batch&& batch) {
    const std::string& places = batch.text("places");
    std::vector<std::shared_ptr<Array>> arrays;
    std::vector<bool> writable;
    for (std::size_t at = 0; batch.has(std::to_string(at)); ++at) {
        Array array = std::move(batch.array(std::to_string(at)));
        const auto& storage = executor::ArrayAccess::storage(array);
        writable.push_back(!storage || (storage.use_count() == 1 && !storage->seen_by_others()));
        arrays.push_back(SeenArrays::all().see(std::move(array), writable.back()));
    }
    py::list buffers;
    for (std::size_t at = 0; at + sizeof(Place) <= places.size(); at += sizeof(Place)) {
        Place place;
        std::memcpy(&place, places.data() + at, sizeof place);
        const std::shared_ptr<Array>& array = arrays.at(place.array);
        auto* const first = const_cast<std::byte*>(array->bytes().data());
        buffers.append(py::cast(Memory{array, first == nullptr ? nullptr : first + place.offset, place.bytes,
                                       writable[place.array]}));
    }
    return py::make_tuple(py::bytes(batch.text("pickled")), buffers);
}

Memory new_memory(std::size_t bytes) {
    auto array = SeenArrays::all().see(Array::of<std::uint8_t>({bytes}), false);
    auto* const first = const_cast<std::byte*>(array->bytes().data());
    return {std::move(array), first, bytes, true};
}

}  // namespace wq::bindings::python
