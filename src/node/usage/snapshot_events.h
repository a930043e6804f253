// Events in files of a task for which snapshots of its usage are taken, as CCTools' resource monitor has
// them. A JSON object names the files, in the task's folder:
//   {"FILE": {"from-start": false, "from-start-if-truncated": true, "delete-if-found": false, "events": [
//       {"label": "NAME", "on-create": false, "on-truncate": false, "pattern": "REGEXP", "count": -1}]}}
// A pattern is a POSIX extended regular expression for a line; `count` is the most snapshots of the event
// (-1: no limit).
#pragma once

#include <regex.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/time.h"

namespace wq::node::usage {

class SnapshotEvents {
  public:
    // Reads engine::model::snapshots_file in this folder, of a task that began then. Null: there is none, or
    // it has no such object.
    static std::unique_ptr<SnapshotEvents> in(const std::string& folder, WallMicros began);

    // Labels of the events since the last call, each once.
    std::vector<std::string> new_labels();

  private:
    struct FreePattern {
        void operator()(regex_t* pattern) const;
    };
    struct Event {
        std::string label;
        bool on_create = false;
        bool on_truncate = false;
        std::unique_ptr<regex_t, FreePattern> pattern;
        long count = -1;
    };
    struct File {
        std::string path;
        bool from_start_if_truncated = true;
        bool delete_if_found = false;
        std::vector<Event> events;
        bool is_there = false;
        off_t read = 0;
        std::string line;  // its last one, as far as it is there
    };

    template <class Happened>
    void take(File& file, std::vector<std::string>& labels, const Happened& happened);
    void read_file(File& file, std::vector<std::string>& labels);
    void read_lines(File& file, int descriptor, std::vector<std::string>& labels);

    std::vector<File> files_;
};

}  // namespace wq::node::usage
