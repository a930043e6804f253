// `#!` lines of a list: each worker runs them once, in order, before the tasks that follow them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manager/links.h"

namespace wq::manager {

class EnvironmentLines {
  public:
    explicit EnvironmentLines(Links& links) : links_(links) {}

    // For these workers (empty: all), also if they join later.
    void add(std::uint64_t position, std::string text, std::vector<std::uint32_t> workers);
    void tell(Link& link);  // the lines that the worker does not have yet
    // By position, from 1; null: none.
    const std::string* text(std::uint64_t position) const;

  private:
    struct Line {
        std::uint64_t position = 0;
        std::string text;
        std::vector<std::uint32_t> workers;
    };
    Links& links_;
    std::vector<Line> lines_;
};

}  // namespace wq::manager
