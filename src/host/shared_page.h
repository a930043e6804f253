// Memory that rank and launcher share: says exactly what a launcher that was killed had begun.
#pragma once

#include <atomic>
#include <cstdint>

namespace wq::host {

struct SharedPage {
    std::atomic<std::uint64_t> last_started{0};  // serial of an order; orders start in their sequence
};

}  // namespace wq::host
