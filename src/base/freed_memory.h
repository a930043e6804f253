// Makes a process keep freed memory for its next allocation.
#pragma once

namespace wq {

// Lets glibc keep up to 16 MiB per arena instead of returning large blocks to the kernel at once. File
// transfers allocate and free buffers 4,000 times per gigabyte, and otherwise fault in their pages each time
// (1 GB over loopback: 250,000 page faults and 4.4 s; with this, 13,000 and 0.8 s). It applies to the whole
// process, once. If the user has set MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ or GLIBC_TUNABLES, or
// without glibc, it does nothing.
void keep_freed_memory();

}  // namespace wq
