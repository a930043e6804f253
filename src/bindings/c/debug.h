// The settings of cctools_debug_*(), for queues created later.
#pragma once

#include <cstdint>
#include <string>

namespace wq::bindings::c {

struct DebugSettings {
    std::string file;   // "": none, or nothing is turned on
    std::string flags;  // in the form of ManagerOptions
    std::uint64_t rotate_bytes = 0;
};

DebugSettings debug_settings();

}  // namespace wq::bindings::c
