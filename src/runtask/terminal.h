// What a worker prints: lines as they begin and end on stdout, the rest on stderr.
#pragma once

#include <string>

#include "marked_list/marked_line.h"

namespace wq::runtask {

class Terminal {
  public:
    // For a person only: what is waited for.
    bool has_reader() const;

    // "(worker 0)-> DIR> LINE"
    void line_begins(marked_list::WorkerId worker, const std::string& directory,
                     const std::string& line) const;
    // "(worker 0)<- line 7 # (BEGUN ... ENDED) #ok"; `mark`: from the first '#' on.
    void line_ended(marked_list::WorkerId worker, std::uint64_t number, const std::string& mark) const;
    // The contents of a file.
    void output(int file) const;
    // "runtask: TEXT"
    void say(const std::string& text) const;
};

}  // namespace wq::runtask
