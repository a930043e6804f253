// Values of Python as batches: what pickle made of them, and their large buffers beside, which go through
// shared memory. Who gets them sees the buffers where they are.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/python/slice_reader.h"
#include "work_queue/batch.h"

namespace wq::bindings::python {

// `buffers`: objects with the buffer protocol, contiguous. One that lies in memory of new_memory(), or in
// memory of from_batch() that others see, too, goes as it is. So does all memory of from_batch() if
// `gives_up`: nobody here changes it any more. Others are copied. Throws BatchError.
Batch to_batch(const pybind11::bytes& pickled, const pybind11::list& buffers, bool gives_up);

// (pickled, buffers): a buffer is writable if nobody else sees it.
pybind11::tuple from_batch(Batch&& batch);

// Of any content. In shared memory if it is large.
Memory new_memory(std::size_t bytes);

}  // namespace wq::bindings::python
