#include "engine/model/ledger.h"

#include <gmock/gmock.h>

#include <map>
#include <sstream>

namespace wq::engine::model {
namespace {

// Every pair of state and event; "-" if there is no transition.
constexpr const char* golden_table = R"(
              blocked ready   leased  sealed  done    failed  skipped cancelled
unblock       ready   -       -       -       -       -       -       -
lease         -       leased  -       -       -       -       -       -
seal          -       sealed  -       -       -       -       -       -
succeed       -       -       done    done    -       -       -       -
fail          -       -       failed  failed  -       -       -       -
retry         -       -       ready   ready   -       -       -       -
give_back     -       -       ready   ready   -       -       -       -
lose          -       -       ready   ready   -       -       -       -
exhaust       -       -       ready   ready   -       -       -       -
abort         -       -       ready   -       -       -       -       -
skip          skipped skipped -       -       -       -       -       -
resume_done   done    -       -       -       -       -       -       -
resume_failed failed  -       -       -       -       -       -       -
cancel        cancelled cancelled cancelled cancelled - -  -       -
expire        failed  failed  -       -       -       -       -       -
)";

TEST(Lifecycle, HasExactlyTheArrowsOfTheTable) {
    std::istringstream lines(golden_table);
    std::string word;
    for (int state = 0; state < task_state_count; ++state) {
        lines >> word;
        EXPECT_EQ(word, name_of(static_cast<TaskState>(state)));
    }
    for (int event = 0; event < task_event_count; ++event) {
        lines >> word;
        EXPECT_EQ(word, name_of(static_cast<TaskEvent>(event)));
        for (int state = 0; state < task_state_count; ++state) {
            lines >> word;
            const auto to = next_state(static_cast<TaskState>(state), static_cast<TaskEvent>(event));
            EXPECT_EQ(to ? name_of(*to) : "-", word)
                << name_of(static_cast<TaskEvent>(event)) << " in " << name_of(static_cast<TaskState>(state));
        }
    }
}

TEST(Lifecycle, NothingLeavesAFinalState) {
    for (int state = 0; state < task_state_count; ++state)
        for (int event = 0; event < task_event_count; ++event)
            EXPECT_FALSE(is_final(static_cast<TaskState>(state)) &&
                         next_state(static_cast<TaskState>(state), static_cast<TaskEvent>(event)));
}

TEST(Lifecycle, DrawsItsDiagram) {
    EXPECT_EQ(diagram(), R"(digraph task {
  rankdir=LR;
  blocked [shape=circle];
  ready [shape=circle];
  leased [shape=circle];
  sealed [shape=circle];
  done [shape=doublecircle];
  failed [shape=doublecircle];
  skipped [shape=doublecircle];
  cancelled [shape=doublecircle];
  blocked -> ready [label="unblock"];
  blocked -> skipped [label="skip"];
  blocked -> done [label="resume_done"];
  blocked -> failed [label="resume_failed"];
  ready -> leased [label="lease"];
  ready -> sealed [label="seal"];
  ready -> skipped [label="skip"];
  leased -> done [label="succeed"];
  leased -> failed [label="fail"];
  leased -> ready [label="retry"];
  leased -> ready [label="give_back"];
  leased -> ready [label="lose"];
  sealed -> done [label="succeed"];
  sealed -> failed [label="fail"];
  sealed -> ready [label="retry"];
  sealed -> ready [label="give_back"];
  sealed -> ready [label="lose"];
  blocked -> cancelled [label="cancel"];
  ready -> cancelled [label="cancel"];
  leased -> cancelled [label="cancel"];
  sealed -> cancelled [label="cancel"];
  blocked -> failed [label="expire"];
  ready -> failed [label="expire"];
  leased -> ready [label="exhaust"];
  sealed -> ready [label="exhaust"];
  leased -> ready [label="abort"];
}
)");
}

}  // namespace
}  // namespace wq::engine::model
