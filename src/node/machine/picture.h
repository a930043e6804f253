// Draws a machine as lines of text: packages and NUMA nodes as nested boxes, a line per cache, a cell per
// core.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "node/machine/layout.h"
#include "node/machine/machine.h"

namespace wq::node::machine {

struct PictureStyle {
    std::size_t columns = 80;  // maximum line length; at least 24
    bool boxes = false;        // of UTF-8 box characters, not of + - |
};

// A text at a node beside its cores ("GPU 0 NVIDIA 0000:01:00.0"); -1: at no node.
struct PictureNote {
    int node = -1;
    std::string text;
};

// `cells`: the text of each core's cell with its brackets; ASCII, all of equal length.
std::string draw(const Layout& layout, const std::vector<std::string>& cells,
                 const std::vector<PictureNote>& notes, const PictureStyle& style);

// The machine with a cell "[ 4]" for each usable core, by the OS index of its first thread; "( 4)": only some
// of its threads are usable; "  - ": none. Then the GPUs that are offered.
std::string draw_machine(const Machine& machine, const PictureStyle& style);

// Cells "[ a]" with one word per core, padded to equal length.
std::vector<std::string> cells_of(const std::vector<std::string>& words, char open, char close);

}  // namespace wq::node::machine
