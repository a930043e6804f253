#include "node/machine/picture.h"

#include <algorithm>
#include <sstream>

namespace wq::node::machine {

namespace {

constexpr std::size_t least_columns = 24;

struct Frame {
    const char *top_left, *top_right, *bottom_left, *bottom_right, *across, *down;
};
constexpr Frame ascii{"+", "+", "+", "+", "-", "|"};
constexpr Frame lines{"┌", "┐", "└", "┘", "─", "│"};

std::string repeat(const char* text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
}

// Lines of equal length that can be put into a box. Everything except the frames is ASCII.
class Sheet {
  public:
    Sheet(std::size_t width, const Frame& frame) : width_(width), frame_(frame) {}

    std::size_t width() const { return width_; }
    void add(std::string text) {
        text.resize(width_, ' ');
        lines_.push_back(std::move(text));
    }
    void add_box(const std::string& title, const Sheet& inner) {
        const std::string name = title.empty() ? "" : " " + title.substr(0, inner.width_ - 2) + " ";
        lines_.push_back(frame_.top_left + name + repeat(frame_.across, inner.width_ - name.size()) +
                         frame_.top_right);
        for (const std::string& line : inner.lines_) lines_.push_back(frame_.down + line + frame_.down);
        lines_.push_back(frame_.bottom_left + repeat(frame_.across, inner.width_) + frame_.bottom_right);
    }
    Sheet inner() const { return {width_ - 2, frame_}; }
    std::string text() const {
        std::string all;
        for (const std::string& line : lines_) all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        return all;
    }

  private:
    std::size_t width_;
    const Frame& frame_;
    std::vector<std::string> lines_;
};

// As many cells per line as fit, after a label on the first line.
void add_cells(Sheet& sheet, const std::string& label, const std::vector<std::string>& cells) {
    std::string line = label;
    for (const std::string& cell : cells) {
        if (line.size() + cell.size() > sheet.width() && line.size() > label.size()) {
            sheet.add(line);
            line.assign(label.size(), ' ');
        }
        line += cell;
    }
    sheet.add(line);
}

std::string broken_into_lines(const std::string& text, std::size_t columns) {
    std::istringstream words(text);
    std::string all;
    std::string line;
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + 1 + word.size() > columns) {
            all += line + "\n";
            line.clear();
        }
        line += line.empty() ? word : " " + word;
    }
    return all + line + "\n";
}

std::string memory_text(std::int64_t memory_mb) {
    if (memory_mb < 10 * 1024) return std::to_string(memory_mb) + " MB";
    return std::to_string(memory_mb / 1024) + " GB";
}

void add_node(Sheet& sheet, const Layout& layout, int package, int node,
              const std::vector<std::string>& cells, const std::vector<PictureNote>& notes) {
    const std::string label = layout.cache_name.empty() ? " " : " " + layout.cache_name + " ";
    std::vector<std::string> line;
    int cache = -1;
    for (std::size_t core = 0; core < layout.cores.size(); ++core) {
        const CoreGroups& place = layout.cores[core].place;
        if (place.package != package || place.node != node) continue;
        if (place.cache != cache && !line.empty()) {
            add_cells(sheet, label, line);
            line.clear();
        }
        cache = place.cache;
        line.push_back(cells[core]);
    }
    if (!line.empty()) add_cells(sheet, label, line);
    for (const PictureNote& note : notes)
        if (note.node == node) sheet.add(" " + note.text);
}

std::vector<int> nodes_of(const Layout& layout, int package) {
    std::vector<int> nodes;
    for (const LayoutCore& core : layout.cores)
        if (core.place.package == package &&
            std::find(nodes.begin(), nodes.end(), core.place.node) == nodes.end())
            nodes.push_back(core.place.node);
    return nodes;
}

std::string node_title(const MemoryNode& node) {
    const std::string name = node.os_index < 0 ? "no NUMA node" : "NUMA " + std::to_string(node.os_index);
    return node.memory_mb > 0 ? name + ", " + memory_text(node.memory_mb) : name;
}

}  // namespace

std::string draw(const Layout& layout, const std::vector<std::string>& cells,
                 const std::vector<PictureNote>& notes, const PictureStyle& style) {
    Sheet machine(std::max(style.columns, least_columns), style.boxes ? lines : ascii);
    for (int package = 0; package < layout.packages; ++package) {
        Sheet box = machine.inner();
        for (const int node : nodes_of(layout, package)) {
            Sheet inside = box.inner();
            add_node(inside, layout, package, node, cells, notes);
            box.add_box(node_title(layout.nodes[static_cast<std::size_t>(node)]), inside);
        }
        machine.add_box("Package " + std::to_string(package), box);
    }
    for (const PictureNote& note : notes)
        if (note.node < 0) machine.add(note.text);
    return machine.text();
}

std::vector<std::string> cells_of(const std::vector<std::string>& words, char open, char close) {
    std::size_t width = 1;
    for (const std::string& word : words) width = std::max(width, word.size());
    std::vector<std::string> cells;
    for (const std::string& word : words)
        cells.push_back(open + std::string(width - word.size(), ' ') + word + close);
    return cells;
}

std::string draw_machine(const Machine& machine, const PictureStyle& style) {
    const Layout& layout = machine.layout;
    std::vector<std::string> words;
    for (const LayoutCore& core : layout.cores) words.push_back(std::to_string(core.pus.front()));
    std::vector<std::string> cells = cells_of(words, '[', ']');
    const std::vector<std::string> some = cells_of(words, '(', ')');
    std::vector<std::size_t> usable(layout.cores.size(), 0);
    for (std::size_t core = 0; core < machine.cores.size(); ++core)
        usable[machine.numbers[core]] = machine.cores[core].size();
    for (std::size_t core = 0; core < cells.size(); ++core) {
        if (usable[core] == layout.cores[core].pus.size()) continue;
        const std::size_t width = cells[core].size();
        cells[core] = usable[core] > 0 ? some[core] : std::string(width - 2, ' ') + "- ";
    }
    std::vector<PictureNote> notes;
    for (std::size_t gpu = 0; gpu < machine.gpus.names.size(); ++gpu) {
        PictureNote note{-1, "GPU " + machine.gpus.names[gpu]};
        if (gpu < machine.gpus.devices.size()) {
            const GpuDevice& device = machine.gpus.devices[gpu];
            note.node = device.node;
            for (const std::string& word : {device.vendor, device.pci})
                if (!word.empty()) note.text += " " + word;
        }
        notes.push_back(std::move(note));
    }
    return draw(layout, cells, notes, style) +
           broken_into_lines(
               "[n] a core, by the number of its first hardware thread; (n) a core of which only "
               "some threads may be used; - a core that may not be used",
               std::max(style.columns, least_columns));
}

}  // namespace wq::node::machine
