// Reads a shared list from its file and its log, without changing anything.
#pragma once

#include <vector>

#include "base/result.h"
#include "shared_list/replica/record_log.h"
#include "shared_list/store/list_store.h"
#include "shared_list/text/document.h"
#include "shared_list/text/merge.h"

namespace wq::shared_list::replica {

// The list as it stands, for who only looks: opens the store to read, waits for no lock and makes nothing.
// Error bad_input: there is no list.
Result<text::Document> view(store::ListStore& store);

// What workers did that a file may lack which no worker wrote: all that the log has if an editor may have
// read the list before that, because workers live; else only what was never written to the list.
Result<text::History> history(store::ListStore& store, const RecordLog& log, const store::Answer& answer,
                              bool workers_live);
// Edits for lines that were appended to old files. Lines that the log has already are left out: their worker
// died before the store could note that they are copied.
std::vector<text::Edit> appends(const RecordLog& log, const std::vector<store::OldFile>& old);

}  // namespace wq::shared_list::replica
