// Which GPUs tasks may be given, as what a *_VISIBLE_DEVICES variable calls them: numbers, or whatever words
// a batch system put there ("GPU-8a3f...", "MIG-..."), which are never interpreted.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wq::host {

struct Gpus {
    std::vector<std::string> names;
    std::string variable;  // which names them to a task; empty: no GPUs
};

// Where they are looked for; tests have a folder in place of the root.
struct GpuSources {
    std::string root;  // "" for /
    std::function<const char*(const char*)> variable;
};

// What the environment offers (a batch system's share), else what the drivers list. `decided` is set when one
// of them had a word in it, also when that word is "none".
Gpus find_gpus(const GpuSources& sources, bool& decided);

// "0,2" -> {"0", "2"}; "", "-1" and "NoDevFiles" mean none. Everything after a -1 is hidden, as CUDA has it.
std::vector<std::string> visible_devices(std::string_view text);

std::vector<std::string> first_numbers(std::size_t count);  // "0", "1", ...

}  // namespace wq::host
