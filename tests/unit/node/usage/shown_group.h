// A control group of plain files, as the kernel would show one with the memory controller.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "node/usage/task_groups.h"
#include "support/folder.h"

namespace wq::node::usage::test {

struct ShownGroup {
    ShownGroup() {
        for (const char* file : {"memory.oom.group", "memory.swap.max", "memory.max"}) write(file, "");
    }
    void write(const char* file, const char* text) const {
        std::ofstream(folder / ("task/" + std::string(file))) << text;
    }
    const wq::test::Folder folder;
    static constexpr bool has_memory = true;
    std::unique_ptr<TaskGroup> owned = std::make_unique<TaskGroup>(folder / "task", has_memory);
    TaskGroup& group = *owned;  // whoever owns it
};

}  // namespace wq::node::usage::test
