#include "programs/worker/worker_resources.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "engine/model/allocation.h"
#include "node/machine/divide.h"
#include "node/machine/placement.h"
#include "programs/command_line.h"

namespace wq::programs::worker {

namespace {

using node::machine::Binding;
using node::machine::BoundKind;
using node::machine::BoundOf;

node::machine::Bounds given_bounds(const WorkerProgramOptions& options) {
    node::machine::Bounds bounds;
    const auto add = [&](BoundKind kind, const std::optional<std::int64_t>& amount) {
        // A limit above the free disk would make tasks fail in the middle, so it does not override the free
        // disk.
        const bool decides = kind != BoundKind::disk;
        if (amount)
            bounds.push_back(
                {kind, *amount, options.said_by[static_cast<std::size_t>(kind)], BoundOf::process, decides});
    };
    add(BoundKind::cores, options.cores);
    add(BoundKind::memory, options.memory_mb);
    add(BoundKind::disk, options.disk_mb);
    add(BoundKind::gpus, options.gpus);
    return bounds;
}

std::string why_unbound(const node::machine::Machine& machine, const WorkerProgramOptions& options) {
    if (!machine.this_machine) return "the machine is simulated (" + machine.origin + ")";
    if (machine.core_count && *machine.core_count > machine.cores.size())
        return std::to_string(*machine.core_count) + " cores of " + std::to_string(machine.cores.size());
    if (machine.core_count)
        return std::to_string(*machine.core_count) + " of " + std::to_string(machine.cores.size()) +
               " cores, and it is unknown which; if no other worker uses this machine, --bind core takes the "
               "nearest";
    if (options.bind == Binding::none) return "--bind none";
    return {};
}

bool is_bound_to_others(const node::machine::NodeSlice& slice, const node::machine::CpuMask& allowed) {
    if (slice.bind == Binding::none || !slice.of_this_machine) return false;
    return std::any_of(slice.cores.begin(), slice.cores.end(), [&](const std::vector<int>& core) {
        return std::any_of(core.begin(), core.end(), [&](int pu) { return !allowed.contains(pu); });
    });
}

}  // namespace

WorkerResources worker_resources(node::machine::Machine machine, std::int64_t free_disk_mb,
                                 const WorkerProgramOptions& options, const node::machine::Bounds& batch) {
    node::machine::Bounds bounds{{BoundKind::disk, free_disk_mb, "free", BoundOf::node, false, {}}};
    bounds.insert(bounds.end(), batch.begin(), batch.end());
    for (const node::machine::Bound& bound : given_bounds(options)) bounds.push_back(bound);
    node::machine::restrict_to(machine, bounds);
    if (options.bind && *options.bind != Binding::none) node::machine::choose_nearest(machine);
    if (options.threads_per_core) node::machine::leave_threads(machine, *options.threads_per_core);

    WorkerResources found;
    const auto disk = node::machine::binding_bound(machine.bounds, BoundKind::disk);
    node::machine::NodeSlice& slice = found.slice;
    slice = node::machine::divide(machine, disk ? disk->amount : free_disk_mb, 1).front();
    if (slice.bind != Binding::none) slice.bind = options.bind.value_or(Binding::core);
    found.offers = {static_cast<std::int64_t>(slice.cores.size()), slice.memory_mb, slice.disk_mb,
                    static_cast<std::int64_t>(slice.gpus.size())};
    found.allocated_cores = node::machine::allocated_cores(batch).value_or(0);
    found.unbound = why_unbound(machine, options);
    found.machine = std::move(machine);
    return found;
}

std::string what_it_lacks(const WorkerResources& then, const WorkerResources& now,
                          const node::machine::CpuMask& allowed) {
    if (is_bound_to_others(then.slice, allowed))
        return "its tasks are bound to cores that it may no longer use";
    const auto fewer = [](const std::string& had, const std::string& has) {
        return "it can offer " + has + " instead of " + had;
    };
    const engine::model::Resources& had = then.offers;
    const engine::model::Resources& has = now.offers;
    if (has.cores < had.cores)
        return fewer(format_count_with_fraction(had.cores), format_count_with_fraction(has.cores) + " cores");
    if (has.memory_mb < had.memory_mb)
        return fewer(std::to_string(had.memory_mb), std::to_string(has.memory_mb) + " MB memory");
    return {};
}

std::string resources_line(const engine::model::Resources& offers) {
    return format_count_with_fraction(offers.cores) + " cores, " + std::to_string(offers.memory_mb) +
           " MB memory, " + std::to_string(offers.disk_mb) + " MB disk, " +
           format_count_with_fraction(offers.gpus) + " gpus";
}

namespace {

struct KindName {
    BoundKind kind;
    const char* key;
    const char* label;
    const char* unit;
};
constexpr std::array<KindName, 4> kinds{KindName{BoundKind::cores, "cores", "cores", ""},
                                        KindName{BoundKind::memory, "memory_mb", "memory", " MB"},
                                        KindName{BoundKind::disk, "disk_mb", "disk", " MB"},
                                        KindName{BoundKind::gpus, "gpus", "GPUs", ""}};

std::string machine_line(const node::machine::Machine& machine) {
    const node::machine::Layout& layout = machine.layout;
    const auto count = [](std::size_t value, const char* noun) { return count_of(value, noun); };
    return machine.origin + ": " + count(static_cast<std::size_t>(layout.packages), "package") + ", " +
           count(layout.nodes.size(), "NUMA node") + ", " + count(layout.cores.size(), "core") + ", " +
           count(layout.threads(), "hardware thread");
}

Json layout_json(const node::machine::Machine& machine) {
    const node::machine::Layout& layout = machine.layout;
    Json json;
    json["source"] = machine.origin;
    json["packages"] = layout.packages;
    json["cache"] = layout.cache_name;
    json["nodes"] = Json::array();
    for (const node::machine::MemoryNode& node : layout.nodes)
        json["nodes"].push_back({{"os_index", node.os_index}, {"memory_mb", node.memory_mb}});
    json["cores"] = Json::array();
    for (const node::machine::LayoutCore& core : layout.cores)
        json["cores"].push_back({{"package", core.place.package},
                                 {"node", core.place.node},
                                 {"cache", core.place.cache},
                                 {"threads", core.pus},
                                 {"usable", Json::array()}});
    for (std::size_t core = 0; core < machine.cores.size(); ++core)
        json["cores"].parts()[machine.numbers[core]]["usable"] = machine.cores[core];
    return json;
}

Json gpus_json(const node::machine::Gpus& gpus) {
    Json json;
    json["variable"] = gpus.variable;
    json["devices"] = Json::array();
    for (std::size_t gpu = 0; gpu < gpus.names.size(); ++gpu) {
        const node::machine::GpuDevice device =
            gpu < gpus.devices.size() ? gpus.devices[gpu] : node::machine::GpuDevice{};
        json["devices"].push_back({{"name", gpus.names[gpu]},
                                   {"vendor", device.vendor},
                                   {"pci", device.pci},
                                   {"node", device.node < 0 ? Json() : Json(device.node)}});
    }
    return json;
}

}  // namespace

std::string detect_text(const WorkerResources& found) {
    std::string text = machine_line(found.machine) + "\noffers " + resources_line(found.offers) + "\n\n";
    std::size_t width = 0;
    for (const node::machine::Bound& bound : found.machine.bounds)
        width = std::max(width, std::to_string(bound.amount).size());
    for (const KindName& kind : kinds) {
        const auto counts = node::machine::binding_bound(found.machine.bounds, kind.kind);
        std::string label = kind.label;
        bool marked = false;
        for (const node::machine::Bound& bound : found.machine.bounds) {
            if (bound.kind != kind.kind) continue;
            const bool mark = !marked && counts && bound == *counts;
            marked = marked || mark;
            const std::string amount = std::to_string(bound.amount);
            text += left_aligned(label, 8) + (mark ? "> " : "  ") + std::string(width - amount.size(), ' ') +
                    amount + left_aligned(kind.unit, 3) + "  " + bound.source + "\n";
            label.clear();
        }
    }
    text += "binding   " + std::string(binding_word(found.slice.bind));
    if (!found.unbound.empty()) text += ": " + found.unbound;
    text += "\n";
    if (!found.machine.watch.empty())
        text += "watching  memory limits are enforced " + found.machine.watch + "\n";
    for (const std::string& remark : found.machine.remarks) text += "remark    " + remark + "\n";
    return text;
}

std::string detect_json(const WorkerResources& found) {
    Json root;
    root["offers"] = {{"cores", found.offers.cores.rounded_down()},
                      {"memory_mb", found.offers.memory_mb},
                      {"disk_mb", found.offers.disk_mb},
                      {"gpus", found.offers.gpus.rounded_down()}};
    for (const KindName& kind : kinds) {
        const auto counts = node::machine::binding_bound(found.machine.bounds, kind.kind);
        Json& list = root["limits"][kind.key] = Json::array();
        bool marked = false;
        for (const node::machine::Bound& bound : found.machine.bounds) {
            if (bound.kind != kind.kind) continue;
            const bool mark = !marked && counts && bound == *counts;
            marked = marked || mark;
            list.push_back({{"amount", bound.amount}, {"source", bound.source}, {"counts", mark}});
        }
    }
    root["binding"] = {{"mode", binding_word(found.slice.bind)}, {"why", found.unbound}};
    root["watching"] = found.machine.watch;
    root["gpus"] = gpus_json(found.machine.gpus);
    root["machine"] = layout_json(found.machine);
    root["remarks"] = found.machine.remarks;
    return root.dump(2) + "\n";
}

namespace {

// "a" to "z", "aa", "ab", ...
std::string letters(std::size_t number) {
    const char last = static_cast<char>('a' + number % 26);
    return (number < 26 ? "" : letters(number / 26 - 1)) + last;
}

void add_task(std::string& to, const std::string& task) {
    to += (to.empty() || to == "." ? "" : "+") + task;
    if (to.starts_with('.')) to.erase(0, 1);
}

}  // namespace

std::string draw_tasks(const WorkerResources& found, const engine::model::Needs& task,
                       const node::machine::PictureStyle& style) {
    const node::machine::Machine& machine = found.machine;
    const engine::model::Resources give =
        engine::model::allocate(task, found.offers, {.rest = engine::model::Rest::proportional});
    if (machine.core_count || !engine::model::ever_fits(task, found.offers))
        return machine.core_count
                   ? "cannot draw where tasks run: " + found.unbound + "\n"
                   : "no task that asks for " + engine::model::describe(task) +
                         " fits here: the worker offers " + engine::model::describe(found.offers) + "\n";
    node::machine::Placement placement(found.slice.places, found.slice.gpu_nodes);
    std::vector<std::string> words(machine.layout.cores.size(), "-");
    for (const std::size_t number : machine.numbers) words[number] = ".";
    std::vector<std::string> users(machine.gpus.names.size());
    std::int64_t seated = 0;
    for (const std::int64_t most = engine::model::how_many_fit(give, found.offers); seated < most; ++seated) {
        const auto seat = placement.take({give.cores.thousandths(), give.gpus.thousandths()});
        if (!seat) break;
        const std::string name = letters(static_cast<std::size_t>(seated));
        for (const std::size_t core : seat->cores) add_task(words[machine.numbers[core]], name);
        for (const std::size_t gpu : seat->gpus) add_task(users[gpu], name);
    }
    std::vector<node::machine::PictureNote> notes;
    for (std::size_t gpu = 0; gpu < users.size(); ++gpu)
        notes.push_back({gpu < machine.gpus.devices.size() ? machine.gpus.devices[gpu].node : -1,
                         "GPU " + machine.gpus.names[gpu] + ": " + (users[gpu].empty() ? "." : users[gpu])});
    return node::machine::draw(machine.layout, node::machine::cells_of(words, '[', ']'), notes, style) +
           std::to_string(seated) + (seated == 1 ? " task with " : " tasks, each with ") +
           engine::model::describe(give) + "; . free, - may not be used\n";
}

node::machine::PictureStyle terminal_style() {
    node::machine::PictureStyle style;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.columns = size.ws_col;
    if (const char* columns = std::getenv("COLUMNS"))
        if (const auto number = parse_count(columns, 1, 10'000))
            style.columns = static_cast<std::size_t>(*number);
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        const std::string_view locale = value;
        for (const char* word : {"UTF-8", "utf-8", "UTF8", "utf8"})
            if (locale.find(word) != std::string_view::npos) style.boxes = true;
        break;
    }
    return style;
}

}  // namespace wq::programs::worker
