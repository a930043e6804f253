// Says in words why a worker has nothing to run.
#pragma once

#include <string>

#include "shared_list/text/choice.h"

namespace wq::runtask {

// "waiting for new lines", "waiting: line 5 waits for line 4 (group a)".
std::string waiting_text(const marked_list::Waiting& why, const marked_list::Document& list,
                         marked_list::WorkerId worker);

// `why` less the blocked lines that wait, in the end, for lines of other workers: these may run yet.
marked_list::Waiting blocked_for_good(marked_list::Waiting why, const marked_list::Document& list,
                                      marked_list::WorkerId worker);

// Why `--once` leaves lines undone; "": all are ok. `failed`: lines that failed.
std::string undone_text(const marked_list::Waiting& why, std::uint64_t failed);

// "2 lines are for other workers: #@3 #@9; 1 line waits for them"; "": there are none. `blocked`: lines that
// wait.
std::string others_text(const marked_list::Document& list, marked_list::WorkerId worker,
                        std::uint64_t blocked = 0);

}  // namespace wq::runtask
