// Says in words why a worker has nothing to run.
#pragma once

#include <string>

#include "shared_list/text/choice.h"

namespace wq::programs::runtask {

// "waiting for new lines", "waiting: line 5 waits for line 4 (group a)".
std::string waiting_text(const shared_list::text::Waiting& why, const shared_list::text::Document& list,
                         shared_list::text::WorkerId worker);

// `why` less the blocked lines that wait, in the end, for lines of other workers: these may run yet.
shared_list::text::Waiting blocked_for_good(shared_list::text::Waiting why,
                                            const shared_list::text::Document& list,
                                            shared_list::text::WorkerId worker);

// Why `--once` leaves lines undone; "": all are ok. `failed`: lines that failed.
std::string undone_text(const shared_list::text::Waiting& why, std::uint64_t failed);

// "2 lines are for other workers: #@3 #@9; 1 line waits for them"; "": there are none. `blocked`: lines that
// wait.
std::string others_text(const shared_list::text::Document& list, shared_list::text::WorkerId worker,
                        std::uint64_t blocked = 0);

}  // namespace wq::programs::runtask
