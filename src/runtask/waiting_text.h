// Says in words why a worker has nothing to run.
#pragma once

#include <string>

#include "marked_list/choice.h"

namespace wq::runtask {

// "waiting for new lines", "waiting: line 5 waits for line 4 (group a)".
std::string waiting_text(const marked_list::Waiting& why);

// Why `--once` leaves lines undone; "": all are ok. `failed`: lines that failed.
std::string undone_text(const marked_list::Waiting& why, std::uint64_t failed);

// "2 lines are for other workers: #@3 #@9"; "": there are none.
std::string others_text(const marked_list::Document& list, marked_list::WorkerId worker);

}  // namespace wq::runtask
