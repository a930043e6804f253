// A machine as lines of text: packages and NUMA nodes as boxes in each other, a line a cache, a cell a core.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "host/layout.h"
#include "host/machine.h"

namespace wq::host {

struct PictureStyle {
    std::size_t columns = 80;  // no line is longer; less than 24 counts as 24
    bool boxes = false;        // of UTF-8 box characters, not of + - |
};

// What stands at a node beside its cores ("GPU 0 NVIDIA 0000:01:00.0"); -1: at none of them.
struct PictureNote {
    int node = -1;
    std::string text;
};

// `cells`: of each core of the layout what is in its cell, brackets and all; ASCII, all equally long.
std::string draw(const Layout& layout, const std::vector<std::string>& cells,
                 const std::vector<PictureNote>& notes, const PictureStyle& style);

// The machine with a cell "[ 4]" for each core that may be used, by the OS index of its first thread; "( 4)":
// only some of its threads may be; "  - ": none. And the GPUs that are offered.
std::string draw_machine(const Machine& machine, const PictureStyle& style);

// Cells "[ a]" with a word of each core's own; all made equally long.
std::vector<std::string> cells_of(const std::vector<std::string>& words, char open, char close);

}  // namespace wq::host
