// What a JobExecutor's function is given and returns: named arrays and small values.
//
//   wq::Batch batch;
//   batch.set("epoch", 3);
//   batch.set("pixels", wq::Array::of<float>({64, 224, 224, 3}));
//   std::span<float> pixels = batch.array("pixels").mutable_values<float>();
//
// Large arrays (above 32 KiB) are in shared memory, and are handed to other processes without a copy: the
// receiver maps them, and the memory stays until the last process drops it. They have no name in /dev/shm.
// Each costs every process that holds it one descriptor.
//
// Copies of a Batch or an Array share their elements until one is changed: mutable_values() first copies them
// if anybody else can see them, in this process or in another one.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace wq::executor {
class Storage;  // of the implementation
struct ArrayAccess;
}  // namespace wq::executor

namespace [[gnu::visibility("default")]] wq {

// A batch that cannot be made, or has not what is asked for. One line.
class BatchError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

enum class ElementType : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,  // C++20 has no such type: use bytes()
    float32,
    float64,
    complex64,
    complex128,
};
std::size_t bytes_of(ElementType type);  // of one element
const char* name_of(ElementType type);   // as NumPy has it: "bool", "float32", ...

namespace detail {
template <class T>
constexpr ElementType element_type() {
    if constexpr (std::is_same_v<T, bool>)
        return ElementType::boolean;
    else if constexpr (std::is_same_v<T, float>)
        return ElementType::float32;
    else if constexpr (std::is_same_v<T, double>)
        return ElementType::float64;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return ElementType::complex64;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return ElementType::complex128;
    else {
        static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "no element of an array has this type");
        constexpr bool is_signed = std::is_signed_v<T>;
        if constexpr (sizeof(T) == 1)
            return is_signed ? ElementType::int8 : ElementType::uint8;
        else if constexpr (sizeof(T) == 2)
            return is_signed ? ElementType::int16 : ElementType::uint16;
        else if constexpr (sizeof(T) == 4)
            return is_signed ? ElementType::int32 : ElementType::uint32;
        else
            return is_signed ? ElementType::int64 : ElementType::uint64;
    }
}
}  // namespace detail

// Elements of one type, the last dimension fastest, without gaps.
class Array {
  public:
    using Shape = std::vector<std::size_t>;

    Array() = default;  // no elements: float64, shape (0); so is one that was moved from
    // Elements have any value. A shape without dimensions has one element, one with a 0 none. Throws
    // BatchError: no memory is left for it (nothing is killed for that later), or no descriptor.
    Array(ElementType type, Shape shape);
    // The same by a C++ type: Array::of<float>({2, 3}).
    template <class T>
    static Array of(Shape shape) {
        return Array(detail::element_type<T>(), std::move(shape));
    }
    // One dimension, with copies of these values.
    template <class T>
    static Array copy_of(std::span<const T> values) {
        Array array = of<T>({values.size()});
        array.assign(values.data(), values.size_bytes());
        return array;
    }
    template <class T>
    static Array copy_of(const std::vector<T>& values) {
        return copy_of(std::span<const T>(values));
    }

    Array(const Array&) = default;
    Array& operator=(const Array&) = default;
    Array(Array&& other) noexcept { swap(other); }
    Array& operator=(Array&& other) noexcept {
        Array(std::move(other)).swap(*this);
        return *this;
    }
    ~Array() = default;

    ElementType type() const { return type_; }
    const Shape& shape() const;
    std::size_t size() const { return bytes_ / bytes_of(type_); }  // elements
    // Whether it is in shared memory: handing it over takes the same time for any size.
    bool is_shared() const;

    std::span<const std::byte> bytes() const { return {data(), bytes_}; }
    std::span<std::byte> mutable_bytes() { return {mutable_data(), bytes_}; }
    // Throw BatchError if the elements have another type than T.
    template <class T>
    std::span<const T> values() const {
        check(detail::element_type<T>());
        return {reinterpret_cast<const T*>(data()), size()};
    }
    template <class T>
    std::span<T> mutable_values() {
        check(detail::element_type<T>());
        return {reinterpret_cast<T*>(mutable_data()), size()};
    }
    // The same elements in another shape. Throws BatchError if it has not as many.
    void reshape(Shape shape);

  private:
    friend struct executor::ArrayAccess;
    void swap(Array& other) noexcept {
        std::swap(type_, other.type_);
        shape_.swap(other.shape_);
        std::swap(bytes_, other.bytes_);
        storage_.swap(other.storage_);
    }
    const std::byte* data() const;
    std::byte* mutable_data();
    void assign(const void* from, std::size_t bytes);
    void check(ElementType wanted) const;

    ElementType type_ = ElementType::float64;
    Shape shape_{};  // empty without elements: (0), as one without dimensions has an element
    std::size_t bytes_ = 0;
    std::shared_ptr<executor::Storage> storage_;  // null: no elements
};

class Batch {
  public:
    using Bytes = std::vector<std::byte>;
    using Value = std::variant<std::int64_t, double, std::string, Bytes, Array>;
    using Entry = std::pair<std::string, Value>;

    // Adds a value, or replaces the one of that name. Any integer becomes int64, float becomes double.
    template <class T>
    void set(std::string_view name, T&& value) {
        using Plain = std::remove_cvref_t<T>;
        if constexpr (std::is_integral_v<Plain>)
            put(name, static_cast<std::int64_t>(value));
        else if constexpr (std::is_floating_point_v<Plain>)
            put(name, static_cast<double>(value));
        else if constexpr (std::is_constructible_v<Value, T>)
            put(name, Value(std::forward<T>(value)));
        else
            put(name, std::string(std::string_view(value)));
    }

    // Throw BatchError, with the names there are, if it has no such value or one of another kind.
    std::int64_t integer(std::string_view name) const;
    double number(std::string_view name) const;  // of an integer, too
    const std::string& text(std::string_view name) const;
    const Bytes& bytes(std::string_view name) const;
    const Array& array(std::string_view name) const;
    Array& array(std::string_view name);

    const Value* find(std::string_view name) const;  // null: none
    bool has(std::string_view name) const { return find(name) != nullptr; }
    bool remove(std::string_view name);  // false: there was none
    void clear() { entries_.clear(); }
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    const std::vector<Entry>& entries() const { return entries_; }  // in the order they were added

  private:
    void put(std::string_view name, Value value);
    const Value& get(std::string_view name) const;

    std::vector<Entry> entries_;
};

}  // namespace gnu::visibility("default")]]wq
