// What a worker prints: lines as they begin and end on stdout, the rest on stderr.
#pragma once

#include <string>

#include "shared_list/text/marked_line.h"

namespace wq::programs::runtask {

class Terminal {
  public:
    Terminal();

    // For a person only: what is waited for.
    bool has_reader() const;
    // Nobody reads stdout any more: its pipe or socket has no other end. Whoever leaves a terminal gets a
    // signal, or has chosen to get none.
    bool is_broken() const;
    // To wait for that, with poll() for no events; -1: it cannot break.
    int descriptor() const;

    // "(worker 0)-> DIR> LINE"
    void line_begins(shared_list::text::WorkerId worker, const std::string& directory,
                     const std::string& line);
    // "(worker 0)<- line 7 # (BEGUN ... ENDED) #ok"; `mark`: from the first '#' on.
    void line_ended(shared_list::text::WorkerId worker, std::uint64_t number, const std::string& mark);
    // The contents of a file.
    void output(int file);
    // "runtask: TEXT"
    void print_remark(const std::string& text) const;

  private:
    void flush();

    bool may_break_ = false;
    bool broken_ = false;  // a write has failed
};

}  // namespace wq::programs::runtask
