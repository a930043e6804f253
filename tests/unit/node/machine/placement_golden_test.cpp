// Drawings of task placements on known machines.
#include <gtest/gtest.h>

#include "node/machine/picture.h"
#include "node/machine/placement.h"
#include "support/golden_file.h"
#include "unit/node/machine/machines.h"

namespace wq::node::machine::test {
namespace {

using wq::test::expect_golden;

// Tasks a, b, c, ... on a machine; a task that ended frees its cores.
class Seats {
  public:
    explicit Seats(const Machine& machine) : machine_(machine), placement_(places(), gpu_nodes()) {}

    void begin(const std::string& task, const Ask& ask) {
        auto seat = placement_.take(ask);
        text_ += task + ": " + std::to_string(ask.cores) + " cores, " + std::to_string(ask.gpus) + " GPUs" +
                 (seat ? "" : ": does not fit") + "\n";
        if (seat) seats_.emplace_back(task, *seat);
    }
    void end(const std::string& task) {
        text_ += task + " ends\n";
        for (const auto& [name, seat] : seats_)
            if (name == task) placement_.give_back(seat);
        std::erase_if(seats_, [&](const auto& named) { return named.first == task; });
    }
    std::string text() {
        std::vector<std::string> words(machine_.layout.cores.size(), "-");
        for (const std::size_t number : machine_.numbers) words[number] = ".";
        std::vector<std::string> gpus(machine_.gpus.names.size());
        for (const auto& [task, seat] : seats_) {
            for (const std::size_t core : seat.cores) {
                std::string& word = words[machine_.numbers[core]];
                word = word == "." ? task : word + task;
            }
            for (const std::size_t gpu : seat.gpus) gpus[gpu] += " " + task;
        }
        std::vector<PictureNote> notes;
        for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
            notes.push_back(
                {machine_.gpus.devices[gpu].node, "GPU " + machine_.gpus.names[gpu] + ":" + gpus[gpu]});
        const std::string picture = draw(machine_.layout, cells_of(words, '[', ']'), notes, {});
        const std::string all = text_ + picture;
        text_.clear();
        return all + "\n";
    }

  private:
    std::vector<CoreGroups> places() const {
        std::vector<CoreGroups> places;
        for (std::size_t core = 0; core < machine_.cores.size(); ++core)
            places.push_back(machine_.place(core));
        return places;
    }
    std::vector<int> gpu_nodes() const {
        std::vector<int> nodes;
        for (const GpuDevice& device : machine_.gpus.devices) nodes.push_back(device.node);
        return nodes;
    }

    Machine machine_;
    Placement placement_;
    std::vector<std::pair<std::string, Seat>> seats_;
    std::string text_;
};

TEST(GoldenPlacement, TwoPackages) {
    Seats seats(two_packages());
    seats.begin("a", {1000, 0});   // one core
    seats.begin("b", {4000, 0});   // beside it, in its cache
    seats.begin("c", {8000, 0});   // a cache
    seats.begin("d", {16000, 0});  // a node
    seats.begin("e", {6000, 1000});
    seats.begin("f", {6000, 2000});  // of two nodes of a package, three cores of each
    std::string text = seats.text();
    seats.begin("g", {40000, 0});  // in the other package, over as few nodes as possible
    seats.end("b");
    seats.begin("h", {3000, 0});  // in the smallest hole: no other cache is broken
    seats.begin("i", {500, 250});
    seats.begin("j", {250, 750});  // shares i's core and GPU
    seats.begin("k", {2500, 0});
    seats.begin("l", {200000, 0});
    text += seats.text();
    expect_golden("machines/two_packages.placement.txt", text);
}

TEST(GoldenPlacement, ManyThreadsACore) {
    Seats seats(smt_four());
    seats.begin("a", {1000, 0});
    seats.begin("b", {2000, 0});  // a separate cache
    seats.begin("c", {1000, 0});  // beside a
    seats.begin("d", {7000, 0});
    seats.begin("e", {6000, 0});
    expect_golden("machines/smt_four.placement.txt", seats.text());
}

TEST(GoldenPlacement, Holes) {
    Seats seats(holes());
    seats.begin("a", {2000, 0});
    seats.begin("b", {1000, 0});
    seats.begin("c", {4000, 0});
    seats.begin("d", {5000, 0});
    seats.begin("e", {1000, 0});
    expect_golden("machines/holes.placement.txt", seats.text());
}

TEST(GoldenPlacement, OneCore) {
    Seats seats(one_core());
    seats.begin("a", {250, 0});
    seats.begin("b", {500, 0});
    seats.begin("c", {500, 0});
    seats.begin("d", {1000, 0});
    seats.begin("e", {0, 1000});
    expect_golden("machines/one_core.placement.txt", seats.text());
}

TEST(GoldenPicture, WhatMayBeUsedIsToldApart) {
    expect_golden("machines/two_packages.draw.txt", draw_machine(two_packages(), {80, true}));
    expect_golden("machines/holes.draw.txt", draw_machine(holes(), {80, false}));
    expect_golden("machines/smt_four.draw.txt", draw_machine(smt_four(), {40, false}));
    expect_golden("machines/one_core.draw.txt", draw_machine(one_core(), {1, false}));
}

}  // namespace
}  // namespace wq::node::machine::test
