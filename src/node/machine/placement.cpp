#include "node/machine/placement.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

namespace wq::node::machine {

namespace {

// Among the shared ones; the first of equals.
std::optional<std::size_t> fullest_with(std::int64_t part, const std::vector<std::size_t>& shared,
                                        const std::vector<std::int64_t>& left) {
    std::optional<std::size_t> fullest;
    for (const std::size_t each : shared)
        if (left[each] >= part && (!fullest || left[each] < left[*fullest])) fullest = each;
    return fullest;
}

std::size_t wholes(std::int64_t thousandths) {
    return thousandths <= 0 ? 0 : static_cast<std::size_t>(thousandths / one_whole);
}
std::int64_t rest(std::int64_t thousandths) {
    return thousandths <= 0 ? 0 : thousandths % one_whole;
}
std::size_t begun(std::int64_t thousandths) {
    return wholes(thousandths) + (rest(thousandths) > 0 ? 1 : 0);
}

}  // namespace

Placement::Placement(std::vector<CoreGroups> cores, std::vector<int> gpu_nodes)
    : pool_(std::move(cores)), core_left_(pool_.size(), one_whole), gpu_left_(gpu_nodes.size(), one_whole) {
    std::map<int, std::vector<std::size_t>> by_node;
    for (std::size_t gpu = 0; gpu < gpu_nodes.size(); ++gpu) by_node[gpu_nodes[gpu]].push_back(gpu);
    for (auto& [node, gpus] : by_node) {
        Near near{node < 0 ? std::vector<std::size_t>{} : pool_.nodes_at(node), std::move(gpus)};
        if (!near.nodes.empty()) near.package = pool_.package_of_node(near.nodes.front());
        nears_.push_back(std::move(near));
    }
}

bool Placement::fits_cores(std::int64_t cores) const {
    return cores_fit(wholes(cores), rest(cores));
}

bool Placement::fits_gpus(std::int64_t gpus) const {
    return gpus_fit(wholes(gpus), rest(gpus));
}

std::optional<Seat> Placement::take(const Ask& ask) {
    if (!fits_cores(ask.cores) || !fits_gpus(ask.gpus)) return std::nullopt;
    const std::size_t cores = wholes(ask.cores);
    const std::size_t gpus = wholes(ask.gpus);
    Seat seat;
    const std::vector<Wish> wishes = take_gpus(seat, gpus, rest(ask.gpus), begun(ask.cores));
    take_cores(seat, cores, rest(ask.cores), wishes);
    std::sort(seat.cores.begin(), seat.cores.end());
    std::sort(seat.gpus.begin(), seat.gpus.end());
    return seat;
}

void Placement::give_back(const Seat& seat) {
    for (const std::size_t core : seat.cores) {
        const bool part = seat.core_part.thousandths > 0 && core == seat.core_part.index;
        core_left_[core] += part ? seat.core_part.thousandths : one_whole;
        if (core_left_[core] < one_whole) continue;
        pool_.give_back(core);
        if (part) std::erase(shared_cores_, core);
    }
    for (const std::size_t gpu : seat.gpus) {
        const bool part = seat.gpu_part.thousandths > 0 && gpu == seat.gpu_part.index;
        gpu_left_[gpu] += part ? seat.gpu_part.thousandths : one_whole;
        if (part && gpu_left_[gpu] == one_whole) std::erase(shared_gpus_, gpu);
    }
}

std::int64_t Placement::free_cores() const {
    std::int64_t free = static_cast<std::int64_t>(pool_.free()) * one_whole;
    for (const std::size_t core : shared_cores_) free += core_left_[core];
    return free;
}
std::int64_t Placement::free_gpus() const {
    return std::accumulate(gpu_left_.begin(), gpu_left_.end(), std::int64_t{0});
}

bool Placement::cores_fit(std::size_t whole, std::int64_t part) const {
    if (whole > pool_.free()) return false;
    return part == 0 || whole < pool_.free() || any_shared_has(part);
}

bool Placement::gpus_fit(std::size_t whole, std::int64_t part) const {
    std::size_t free = 0;
    bool room = false;
    for (const std::int64_t left : gpu_left_) {
        if (left == one_whole) ++free;
        if (left < one_whole && left >= part) room = true;
    }
    return whole <= free && (part == 0 || room || whole < free);
}

std::size_t Placement::free_gpus_of(const Near& near) const {
    return static_cast<std::size_t>(std::count_if(
        near.gpus.begin(), near.gpus.end(), [&](std::size_t gpu) { return gpu_left_[gpu] == one_whole; }));
}

std::size_t Placement::free_cores_of(const Near& near) const {
    if (near.nodes.empty()) return pool_.free();  // nodes unknown: all are equally near
    std::size_t free = 0;
    for (const std::size_t node : near.nodes) free += pool_.free_in(node);
    return free;
}

// GPUs still needed, the total, and the cores of the task.
struct Placement::Search {
    std::size_t gpus;
    std::size_t of;
    std::size_t cores;
    std::size_t package = no_package;  // where it already has GPUs
};

// A node that has all of them; else one in the package of those taken before, or in a package that has all;
// else the one with most. Among those, the one that lacks the fewest cores of its share, then the one with
// the fewest GPUs.
const Placement::Near* Placement::best_near(const Search& search) const {
    std::map<std::size_t, std::size_t> in_package;
    for (const Near& near : nears_) in_package[near.package] += free_gpus_of(near);
    const Near* best = nullptr;
    std::tuple<bool, bool, std::size_t, std::size_t, std::size_t> least;
    for (const Near& near : nears_) {
        const std::size_t free = free_gpus_of(near);
        if (free == 0) continue;
        const std::size_t here = std::min(free, search.gpus);
        const std::size_t share = (search.cores * here + search.of - 1) / search.of;
        const std::size_t nearby = free_cores_of(near);
        const bool elsewhere = search.package == no_package ? in_package[near.package] < search.gpus
                                                            : near.package != search.package;
        const auto merit = std::make_tuple(
            here<search.gpus, elsewhere, search.gpus - here, share> nearby ? share - nearby : 0, free);
        if (best != nullptr && merit >= least) continue;
        best = &near;
        least = merit;
    }
    return best;
}

std::vector<Placement::Wish> Placement::take_gpus(Seat& seat, std::size_t whole, std::int64_t part,
                                                  std::size_t cores) {
    std::vector<Wish> wishes;
    const auto use = [&](const Near& near, std::size_t gpu, std::int64_t thousandths) {
        gpu_left_[gpu] -= thousandths;
        seat.gpus.push_back(gpu);
        if (wishes.empty() || wishes.back().near != &near) wishes.push_back({&near, 0});
        ++wishes.back().gpus;
    };
    const std::size_t all = whole + (part > 0 ? 1 : 0);
    while (whole > 0) {
        const Near& near =
            *best_near({whole, all, cores, wishes.empty() ? no_package : wishes.front().near->package});
        for (const std::size_t gpu : near.gpus) {
            if (whole == 0) break;
            if (gpu_left_[gpu] < one_whole) continue;
            use(near, gpu, one_whole);
            --whole;
        }
    }
    if (part == 0) return wishes;
    const auto shared = fullest_with(part, shared_gpus_, gpu_left_);
    const Near& home =
        shared ? near_of(*shared)
               : *best_near({1, all, cores, wishes.empty() ? no_package : wishes.front().near->package});
    if (!shared)
        shared_gpus_.push_back(*std::find_if(home.gpus.begin(), home.gpus.end(),
                                             [&](std::size_t gpu) { return gpu_left_[gpu] == one_whole; }));
    seat.gpu_part = {shared.value_or(shared_gpus_.back()), part};
    use(home, seat.gpu_part.index, part);
    return wishes;
}

const Placement::Near& Placement::near_of(std::size_t gpu) const {
    return *std::find_if(nears_.begin(), nears_.end(), [&](const Near& near) {
        return std::find(near.gpus.begin(), near.gpus.end(), gpu) != near.gpus.end();
    });
}

bool Placement::any_shared_has(std::int64_t part) const {
    return std::any_of(shared_cores_.begin(), shared_cores_.end(),
                       [&](std::size_t core) { return core_left_[core] >= part; });
}

void Placement::take_cores(Seat& seat, std::size_t whole, std::int64_t part,
                           const std::vector<Wish>& wishes) {
    // A newly shared core is chosen together with the others.
    const bool joint = wishes.empty() && part > 0 && !any_shared_has(part);
    if (wishes.empty())
        pool_.take(whole + (joint ? 1 : 0), seat.cores);
    else
        take_near(seat, whole, wishes);
    for (const std::size_t core : seat.cores) core_left_[core] = 0;
    if (joint) {
        seat.core_part = {seat.cores.back(), part};
        core_left_[seat.cores.back()] = one_whole - part;
        shared_cores_.push_back(seat.cores.back());
    } else if (part > 0) {
        take_core_part(seat, part, wishes);
    }
}

// First each GPU's share on its nodes, then the rest of those nodes, then the nearest cores.
void Placement::take_near(Seat& seat, std::size_t whole, const std::vector<Wish>& wishes) {
    std::size_t left = whole;
    const auto take_at = [&](const Near& near, std::size_t most) {
        for (const std::size_t node : near.nodes) {
            const std::size_t here = std::min({most, left, pool_.free_in(node)});
            pool_.take_in(node, here, seat.cores);
            most -= here;
            left -= here;
        }
    };
    std::size_t gpus_left = seat.gpus.size();
    std::size_t unshared = whole;
    for (const Wish& wish : wishes) {
        const std::size_t share = unshared * wish.gpus / gpus_left;
        take_at(*wish.near, share);
        unshared -= share;
        gpus_left -= wish.gpus;
    }
    for (const Wish& wish : wishes) take_at(*wish.near, left);
    const auto has_package = [&](std::size_t package) {
        return std::any_of(seat.cores.begin(), seat.cores.end(), [&](std::size_t core) {
            return pool_.package_of_node(pool_.node_of(core)) == package;
        });
    };
    if (seat.cores.empty()) return pool_.take(left, seat.cores);
    while (left > 0) {
        std::size_t best = pool_.nodes();
        std::tuple<bool, bool, std::size_t> least;
        for (std::size_t node = 0; node < pool_.nodes(); ++node) {
            const std::size_t free = pool_.free_in(node);
            if (free == 0) continue;
            const bool holds = free >= left;
            const auto merit = std::make_tuple(!has_package(pool_.package_of_node(node)), !holds,
                                               holds ? free : pool_.size() - free);
            if (best != pool_.nodes() && merit >= least) continue;
            best = node;
            least = merit;
        }
        const std::size_t here = std::min(left, pool_.free_in(best));
        pool_.take_in(best, here, seat.cores);
        left -= here;
    }
}

void Placement::take_core_part(Seat& seat, std::int64_t part, const std::vector<Wish>& wishes) {
    std::vector<std::size_t> nodes;  // where it should be
    for (const Wish& wish : wishes)
        nodes.insert(nodes.end(), wish.near->nodes.begin(), wish.near->nodes.end());
    if (wishes.empty())
        for (const std::size_t core : seat.cores) nodes.push_back(pool_.node_of(core));
    const auto near = [&](std::size_t node) {
        return nodes.empty() || std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    };

    std::vector<std::size_t> shared_near;
    std::copy_if(shared_cores_.begin(), shared_cores_.end(), std::back_inserter(shared_near),
                 [&](std::size_t core) { return near(pool_.node_of(core)); });
    auto shared = fullest_with(part, shared_near, core_left_);
    if (!shared) shared = fullest_with(part, shared_cores_, core_left_);
    std::size_t best = shared.value_or(pool_.size());
    // Start sharing a new one only if none in the right place has room.
    if (best == pool_.size() || (!wishes.empty() && !near(pool_.node_of(best)))) {
        std::vector<std::size_t> fresh;
        for (const std::size_t node : nodes)
            if (fresh.empty() && pool_.free_in(node) > 0) pool_.take_in(node, 1, fresh);
        if (fresh.empty() && best == pool_.size()) pool_.take(1, fresh);
        if (!fresh.empty()) {
            best = fresh.front();
            shared_cores_.push_back(best);
        }
    }
    core_left_[best] -= part;
    seat.core_part = {best, part};
    seat.cores.push_back(best);
}

}  // namespace wq::node::machine
