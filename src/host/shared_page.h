// Memory that rank and launcher share: says exactly what a launcher that was killed had begun, and where its
// temporary folder is.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace wq::host {

struct SharedPage {
    std::atomic<std::uint64_t> last_started{0};  // serial of an order; orders start in their sequence
    std::array<char, 3072> scratch{};  // path of the launcher's folder, written before it is forked
};

}  // namespace wq::host
