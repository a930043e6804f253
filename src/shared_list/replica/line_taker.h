// Takes lines of a shared list for one worker: the ends of its last lines and the beginning of the next are
// one change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "shared_list/replica/shared_list.h"
#include "shared_list/store/list_place.h"
#include "shared_list/text/choice.h"
#include "shared_list/text/marked_line.h"

namespace wq::shared_list::replica {

class LineTaker {
  public:
    LineTaker(SharedList& list, text::WorkerId worker)
        : list_(list), worker_(worker), purpose_("lines of worker " + std::to_string(worker)) {}

    // To be recorded by the next step. An end that is `lost` is not recorded if somebody else has recorded
    // it.
    void add_end(text::End end) { ends_.push_back(std::move(end)); }
    bool has_ends() const { return !ends_.empty(); }
    // Whether somebody has marked this try of the worker as lost: others may run the line.
    bool is_taken_away(std::uint64_t number, const std::string& begun, const std::string& command) const;

    // Records ends and, with `may_begin`, begins a line. Returns it, or the `#!` line to run next (no mark
    // tells of it); nothing: there is none. It becomes the worker's place. Errors: see SharedList::change().
    Result<std::optional<text::Choice>> step(bool may_begin);
    Status record_ends() {
        constexpr bool may_begin = false;
        const auto made = step(may_begin);
        return made ? success() : Status(made.error());
    }

  private:
    std::vector<text::Edit> decide(const text::Document& list, bool may_begin);
    std::optional<text::Choice> begun(const std::vector<text::Edit>& made) const;

    SharedList& list_;
    text::WorkerId worker_;
    std::string purpose_;
    std::vector<text::End> ends_;
    // The last decision.
    bool decided_now_ = false;  // in this step
    std::vector<text::Edit> decided_;
    std::optional<text::Choice> next_;
};

// Variables of the worker's shell after the line; "": not set.
struct JumpVariables {
    std::string newtask;  // a list
    std::string newid;
    std::string jumpto;  // a list, where it has the same id
};

// What a `#!` line has told its worker to do next: to go to another list, or to have another id.
struct Jump {
    store::ListPlace place;
    std::optional<text::WorkerId> id;  // none: the next one
    bool same_list = false;
};

// `id` and `place`: of the worker. nullopt: it stays. Error: it stays, as the values make no sense.
Result<std::optional<Jump>> jump_of(const JumpVariables& set, text::WorkerId id,
                                    const store::ListPlace& place);

}  // namespace wq::shared_list::replica
