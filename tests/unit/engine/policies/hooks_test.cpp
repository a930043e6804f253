// Hooks that policies have, and those that they only seem to have.
#include <gtest/gtest.h>

#include <string>

#include "engine/policies/policies.h"

namespace wq::engine::policies {
namespace {

struct Fine {
    void leased(int&) {}
};
struct OtherParameters {
    void leased(const std::string&) {}
};
class Private {
    [[maybe_unused]] void leased(int&) {}
};
struct Overloaded {
    void leased(const std::string&) {}
    void leased(const std::string&, int) {}
};
struct None {
    void freed(int&) {}
};

enum class Hook { none, called, never_called };

template <class Policy>
Hook hook_of() {
    Policy policy_{};
    return [](auto& policy) {
        [[maybe_unused]] int task = 0;
        WQ_LOOK_FOR_HOOK(leased, task);
        return answers ? Hook::called : is_named ? Hook::never_called : Hook::none;
    }(policy_);
}

TEST(Hooks, AreToldFromThoseThatWouldNeverBeCalled) {
    EXPECT_EQ(hook_of<Fine>(), Hook::called);
    EXPECT_EQ(hook_of<None>(), Hook::none);
    EXPECT_EQ(hook_of<OtherParameters>(), Hook::never_called);
    EXPECT_EQ(hook_of<Private>(), Hook::never_called);
    EXPECT_EQ(hook_of<Overloaded>(), Hook::never_called);
}

}  // namespace
}  // namespace wq::engine::policies
