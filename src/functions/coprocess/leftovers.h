// What calls leave behind in a coprocess' host and in its folder.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "functions/coprocess/message.h"
#include "node/process/command_host.h"

namespace wq::functions::coprocess {

// The kernel makes the host the parent of processes whose parent has ended. Those of a `fork` end with their
// call; those of other calls stay, since a function may use them later.
class CallOrphans {
  public:
    void begin_call(const node::process::CommandHost& host, engine::model::CallMode mode);
    void end_call(const node::process::CommandHost& host, engine::model::CallMode mode) const;
    void forget() { stay_.reset(); }  // the coprocess is started anew

  private:
    std::optional<std::vector<pid_t>> stay_;  // nullopt: unknown
};

// `t.N` in the folder of the coprocess: a folder, or a link to the sandbox with the task's files.
Status make_task_folder(const std::string& folder, const RemoteOrder& order);
// Removes a part of it. True: it is gone.
bool remove_task_folder(const std::string& folder, const RemoteOrder& order);

// The last line that it wrote to stderr, such as the exception that ended it; "": none.
std::string last_line_of_stderr(const std::string& folder);
// Empties the file if it is larger than a part of the share, so that no call pays for what others printed.
void shorten_stderr(const std::string& folder, std::int64_t disk_mb);

}  // namespace wq::functions::coprocess
