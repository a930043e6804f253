// Streams as tests write them down.
#pragma once

#include <string>
#include <string_view>

#include "files/trees/tree_format.h"

namespace wq::files::trees {

// Of a file of these bytes that all may read.
inline std::string stream_of(std::string_view bytes) {
    return head_of_stream(bytes.size()).append(bytes) + tail_of_stream();
}

}  // namespace wq::files::trees
