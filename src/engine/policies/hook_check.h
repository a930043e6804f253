// Checks whether a policy has a hook, for policy_hooks.cpp. A hook that is private or has other parameters
// would silently never be called, so the check distinguishes it from no hook.
#pragma once

#include <type_traits>

namespace wq::engine::policies {

// A name that both bases have is ambiguous here, whatever its access and parameters.
template <class Policy, class Named>
struct BothHave : Policy, Named {};

// Declares two constants about `policy`: `answers` (the function can be called with these arguments) and
// `is_named` (the policy has a member of that name).
#define WQ_LOOK_FOR_HOOK(function, ...)                           \
    struct Named {                                                \
        int function;                                             \
    };                                                            \
    using Both = BothHave<std::decay_t<decltype(policy)>, Named>; \
    constexpr bool answers = requires {                           \
        policy.function(__VA_ARGS__);                             \
    };                                                            \
    constexpr bool is_named = !requires {                         \
        &Both::function;                                          \
    }

}  // namespace wq::engine::policies
