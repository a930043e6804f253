#include "base/descriptor.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace wq {
namespace {

bool is_readable(const Wake& wake) {
    pollfd waits{wake.descriptor(), POLLIN, 0};
    return ::poll(&waits, 1, 0) == 1;
}

TEST(Wake, IsReadableFromSetToClear) {
    const Wake wake;
    ASSERT_TRUE(wake.valid());
    EXPECT_FALSE(is_readable(wake));
    EXPECT_FALSE(wake.clear());  // and does not wait
    EXPECT_TRUE(wake.set());
    EXPECT_TRUE(wake.set());
    EXPECT_TRUE(is_readable(wake));
    EXPECT_TRUE(wake.clear());
    EXPECT_FALSE(is_readable(wake));
    EXPECT_FALSE(wake.clear());
}

}  // namespace
}  // namespace wq
