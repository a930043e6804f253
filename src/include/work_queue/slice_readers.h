// Readers of the records in slices: lines of text, rows of HDF5 datasets, binary records.
//
//   wq::SliceQueue slices(mpi, {"a.txt", "b.txt"}, {.num_slices = 100, .lines = true});
//   wq::SliceProducer producer = slices.input_producer();
//   wq::LineReader reader;
//   for (;;) {
//       const auto [keys, values] = reader.read_up_to(producer, 1000);
//       if (values.empty()) break;
//       for (const std::string_view line : values) train_on(line);
//   }
//
// read_up_to() never crosses the end of a slice: the records that it returns are of one slice, which is
// committed when the reader takes the next one. So it may return fewer than asked for, as TensorFlow's may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "work_queue/slice_queue.h"

namespace [[gnu::visibility("default")]] wq {

// Where records are: "FILE:LINE" (from 1), "FILE.h5:/path?row=N" or "FILE?record=N" (from 0). A key is made
// when it is asked for.
class RecordKeys {
  public:
    RecordKeys() = default;
    RecordKeys(std::string_view prefix, std::uint64_t first, std::size_t size)
        : prefix_(prefix), first_(first), size_(size) {}
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::string operator[](std::size_t n) const { return std::string(prefix_) + std::to_string(first_ + n); }

  private:
    std::string_view prefix_;
    std::uint64_t first_ = 0;
    std::size_t size_ = 0;
};

// The bytes of records, a view of each: of a line without its newline (but with a carriage return before it),
// of a row in this machine's byte order. Texts of any length in one row of HDF5 have a NUL between them.
class RecordValues {
  public:
    RecordValues() = default;
    // Of `size` records, `starts` (size + 1) of each in `bytes`; `gap` bytes are between two.
    RecordValues(std::string_view bytes, std::size_t size, const std::size_t* starts, std::size_t gap)
        : bytes_(bytes), size_(size), starts_(starts), gap_(gap) {}
    // Of `size` records of `record_bytes` bytes. `element`: of which a row is made, such as "float32"; empty:
    // anything.
    RecordValues(std::string_view bytes, std::size_t size, std::size_t record_bytes,
                 std::string_view element = {})
        : bytes_(bytes), size_(size), record_bytes_(record_bytes), element_(element) {}

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::string_view operator[](std::size_t n) const {
        if (starts_ == nullptr) return bytes_.substr(n * record_bytes_, record_bytes_);
        return bytes_.substr(starts_[n], starts_[n + 1] - starts_[n] - gap_);
    }

    // All rows, or binary records, one after the other as numbers: values.as<float>(). T is the type of the
    // rows: nothing is converted (float16: std::uint16_t; text: char). Throws std::logic_error if it is
    // another one, if these are texts, or no whole number of T.
    template <class T>
    std::span<const T> as() const {
        if (!is_made_of<T>())
            throw std::logic_error("the rows are made of " + std::string(element_) +
                                   ", and are not converted");
        const bool fits = record_bytes_ % sizeof(T) == 0 &&
                          reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(T) == 0;
        if (starts_ != nullptr || !fits)
            throw std::logic_error("records of " + std::to_string(record_bytes_) +
                                   " bytes are no numbers of " + std::to_string(sizeof(T)));
        return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }

    class iterator {
      public:
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::forward_iterator_tag;
        iterator() = default;
        iterator(const RecordValues& values, std::size_t n) : values_(&values), n_(n) {}
        std::string_view operator*() const { return (*values_)[n_]; }
        iterator& operator++() { return ++n_, *this; }
        iterator operator++(int) { return {*values_, n_++}; }
        bool operator==(const iterator& other) const { return n_ == other.n_; }

      private:
        const RecordValues* values_ = nullptr;
        std::size_t n_ = 0;
    };
    iterator begin() const { return {*this, 0}; }
    iterator end() const { return {*this, size_}; }

  private:
    template <class T>
    bool is_made_of() const {
        if (element_.empty() || sizeof(T) == 1) return true;
        if (std::is_floating_point_v<T>) return element_ == "float" + std::to_string(8 * sizeof(T));
        if (sizeof(T) == 2 && element_ == "float16") return true;
        if (!std::is_integral_v<T>) return true;  // a struct of the program's own
        return element_ == (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
    }

    std::string_view bytes_;
    std::size_t size_ = 0;
    std::size_t record_bytes_ = 0;
    std::string_view element_{};
    const std::size_t* starts_ = nullptr;
    std::size_t gap_ = 0;
};

// Valid until its reader reads on, or ends.
struct Records {
    RecordKeys keys;
    RecordValues values;
};

class SliceReader {
  public:
    SliceReader(SliceReader&&) noexcept;
    SliceReader& operator=(SliceReader&&) noexcept;
    ~SliceReader();

    // The next records, at most `most`, of the slice that it reads, or else of the next slice that has any.
    // Fewer at a slice's end only; none: the end. Waits for a slice. Throws std::invalid_argument if `most`
    // is 0, and std::runtime_error if a file cannot be read or changed since its records were counted, or
    // rank 0 is lost.
    Records read_up_to(SliceProducer& slices, std::size_t most);

    // Reads a slice of SliceQueue::take() from here on. Throws as read_up_to(). The queue must outlive it.
    void open(SliceQueue& queue, const Slice& slice);
    void open(SliceProducer& queue, const Slice& slice);
    // The next records of that slice; none: its end.
    Records read_up_to(std::size_t most);

    // While it lives, the values that were read last stay as they are, also if the reader reads on or ends.
    // Null: this cannot be done for lines, texts, and what comes from another process.
    std::shared_ptr<const void> keep();

    std::uint64_t num_records_produced() const;  // by this reader
    // Of the HDF5 rows read last: "float32[28][28]"; otherwise empty.
    std::string row_type() const;
    // Whether the records of this slice come from another process, which a read may wait for.
    bool may_wait() const;

  protected:
    enum class Kind { lines, rows, records };
    explicit SliceReader(Kind kind, std::uint64_t record_bytes = 0);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

// Lines of text. A slice that was not cut is a whole file.
class LineReader : public SliceReader {
  public:
    LineReader() : SliceReader(Kind::lines) {}
};

// Rows of HDF5 datasets of numbers or texts, "FILE.h5:/path".
class RowReader : public SliceReader {
  public:
    RowReader() : SliceReader(Kind::rows) {}
};

// Binary records of so many bytes each. Throws std::invalid_argument if it is 0.
class RecordReader : public SliceReader {
  public:
    explicit RecordReader(std::uint64_t record_bytes) : SliceReader(Kind::records, record_bytes) {}
};

}  // namespace gnu::visibility("default")]]wq
