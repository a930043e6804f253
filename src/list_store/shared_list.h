// A worker's copy of a shared list, kept equal to the list at the master, and changed together with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "list_store/list_store.h"
#include "marked_list/document.h"
#include "marked_list/edit.h"

namespace wq::list_store {

class SharedList {
  public:
    // `say` gets lines for the user: what is waited for, what was found wrong at the master and mended.
    SharedList(ListStore& store, std::function<void(const std::string&)> say);

    // Opens the store and reads the list.
    Status open();
    // Follows what others did since.
    Status refresh();
    const marked_list::Document& list() const { return list_; }

    // Asks `decide` what to do to the list as it stands, and does all of it or, if others were faster, asks
    // again. Returns the edits that were made; none: `decide` wanted none. Error: the master cannot be
    // reached, or the change is impossible; after `unreachable`, another call finds out whether it was made.
    using Decide = std::function<std::vector<marked_list::Edit>(const marked_list::Document&)>;
    Result<std::vector<marked_list::Edit>> change(const Decide& decide);

    // Joins as `wanted`, or as the next worker; returns the id.
    Result<marked_list::WorkerId> join(const std::string& name, std::optional<marked_list::WorkerId> wanted);

    // Puts `text` in the place of the whole list, and forgets what was done to it. For `--reset`.
    Status replace(const std::function<std::string(const marked_list::Document&)>& text);

    // The file lags behind its log while edits come fast: rewriting takes at most a twentieth of the time.
    // When to call settle(); nullopt: the file is up to date.
    std::optional<Instant> unsettled() const;
    Status settle();

    // How far a number that was kept has moved since: lines were put in front, or the list was edited.
    // 0: the line is gone.
    std::uint64_t follow(std::uint64_t number) const;

    // "MM-DD HH:MM:SS" of the master's clock.
    std::string stamp() const;
};

}  // namespace wq::list_store
