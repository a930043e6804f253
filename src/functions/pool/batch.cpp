#include "work_queue/batch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>

#include "functions/pool/storage.h"

namespace wq {

namespace {

struct TypeFacts {
    const char* name;
    std::size_t bytes;
};
constexpr std::array<TypeFacts, 14> facts{{{"bool", 1},
                                           {"int8", 1},
                                           {"int16", 2},
                                           {"int32", 4},
                                           {"int64", 8},
                                           {"uint8", 1},
                                           {"uint16", 2},
                                           {"uint32", 4},
                                           {"uint64", 8},
                                           {"float16", 2},
                                           {"float32", 4},
                                           {"float64", 8},
                                           {"complex64", 8},
                                           {"complex128", 16}}};
constexpr std::array<const char*, 5> kinds{"an integer", "a number", "a text", "bytes", "an array"};
constexpr std::align_val_t alignment{64};

std::string text_of(const Array::Shape& shape) {
    std::string text;
    for (const std::size_t length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
    return "(" + text + ")";
}

std::size_t checked_bytes(ElementType type, const Array::Shape& shape) {
    const auto bytes = executor::bytes_of_shape(type, shape);
    if (!bytes) throw BatchError("an array of shape " + text_of(shape) + " is larger than any memory");
    return *bytes;
}

BatchError other_kind(std::string_view name, const Batch::Value& value, const char* wanted) {
    return BatchError("'" + std::string(name) + "' is " + kinds[value.index()] + ", not " + wanted);
}

template <class T, class AnyBatchValue>
auto& as(std::string_view name, AnyBatchValue& value, const char* wanted) {
    if (auto* const found = std::get_if<T>(&value)) return *found;
    throw other_kind(name, value, wanted);
}

}  // namespace

std::size_t bytes_of(ElementType type) {
    return facts[static_cast<std::size_t>(type)].bytes;
}
const char* name_of(ElementType type) {
    return facts[static_cast<std::size_t>(type)].name;
}

namespace executor {

std::optional<std::size_t> bytes_of_shape(ElementType type, const Array::Shape& shape) {
    if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) return 0;
    constexpr std::size_t most = std::size_t{1} << 62;
    std::size_t bytes = bytes_of(type);
    for (const std::size_t length : shape) {
        if (length > most / bytes) return std::nullopt;
        bytes *= length;
    }
    return bytes;
}

Storage::Storage(std::size_t bytes) : data_(static_cast<std::byte*>(::operator new(bytes, alignment))) {}

Storage::~Storage() {
    if (block_)
        Block::drop_user(std::move(block_));
    else
        ::operator delete(data_, alignment);
}

std::shared_ptr<Storage> Storage::make(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (bytes <= largest_on_heap) return std::make_shared<Storage>(bytes);
    auto block = Block::make(bytes);
    if (!block) throw BatchError(block.error().message);
    return std::make_shared<Storage>(std::move(*block));
}

}  // namespace executor

Array::Array(ElementType type, Shape shape)
    : type_(type),
      shape_(std::move(shape)),
      bytes_(checked_bytes(type, shape_)),
      storage_(executor::Storage::make(bytes_)) {}

const Array::Shape& Array::shape() const {
    static const Shape none{0};
    return bytes_ == 0 && shape_.empty() ? none : shape_;
}

bool Array::is_shared() const {
    return storage_ && storage_->block();
}

const std::byte* Array::data() const {
    return storage_ ? storage_->data() : nullptr;
}

std::byte* Array::mutable_data() {
    if (!storage_) return nullptr;
    if (storage_.use_count() > 1 || storage_->seen_by_others()) {
        auto own = executor::Storage::make(bytes_);
        std::memcpy(own->data(), storage_->data(), bytes_);
        storage_ = std::move(own);
    }
    return storage_->data();
}

void Array::assign(const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(mutable_data(), from, bytes);
}

void Array::check(ElementType wanted) const {
    if (type_ != wanted)
        throw BatchError(std::string("the elements of the array are ") + name_of(type_) + ", not " +
                         name_of(wanted));
}

void Array::reshape(Shape shape) {
    if (checked_bytes(type_, shape) != bytes_)
        throw BatchError("an array of shape " + text_of(this->shape()) + " cannot have shape " +
                         text_of(shape));
    shape_ = std::move(shape);
}

void Batch::put(std::string_view name, Value value) {
    for (Entry& entry : entries_)
        if (entry.first == name) {
            entry.second = std::move(value);
            return;
        }
    entries_.emplace_back(name, std::move(value));
}

const Batch::Value* Batch::find(std::string_view name) const {
    for (const Entry& entry : entries_)
        if (entry.first == name) return &entry.second;
    return nullptr;
}

const Batch::Value& Batch::get(std::string_view name) const {
    if (const Value* const found = find(name)) return *found;
    std::string names;
    for (const Entry& entry : entries_) names += (names.empty() ? "" : ", ") + entry.first;
    throw BatchError("the batch has no '" + std::string(name) + "'; it has " +
                     (names.empty() ? "nothing" : names));
}

bool Batch::remove(std::string_view name) {
    return std::erase_if(entries_, [&](const Entry& entry) { return entry.first == name; }) > 0;
}

std::int64_t Batch::integer(std::string_view name) const {
    return as<std::int64_t>(name, get(name), kinds[0]);
}
double Batch::number(std::string_view name) const {
    const Value& value = get(name);
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    return as<double>(name, value, kinds[1]);
}
const std::string& Batch::text(std::string_view name) const {
    return as<std::string>(name, get(name), kinds[2]);
}
const Batch::Bytes& Batch::bytes(std::string_view name) const {
    return as<Bytes>(name, get(name), kinds[3]);
}
const Array& Batch::array(std::string_view name) const {
    return as<Array>(name, get(name), kinds[4]);
}
Array& Batch::array(std::string_view name) {
    return as<Array>(name, const_cast<Value&>(get(name)), kinds[4]);
}

}  // namespace wq
