#include "cctools/timestamp.h"

#include "base/time.h"

timestamp_t timestamp_get(void) {
    return static_cast<timestamp_t>(wq::wall_now());
}
