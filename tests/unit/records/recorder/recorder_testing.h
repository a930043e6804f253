// A recorder in a directory of its own, and waiting for what it says.
#pragma once

#include <poll.h>

#include <functional>
#include <memory>

#include "records/recorder/recorder.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::recorder::testing {

inline RecorderOptions options_in(const std::string& directory) {
    RecorderOptions options;
    options.run_directory = directory;
    options.run_id = "run-7";
    options.list_name = "tasks.sh";
    options.categories = {"default", "align"};
    options.flush_interval = std::chrono::milliseconds(3);
    return options;
}

inline Recorded recorded_number(std::uint64_t i) {
    Recorded recorded;
    recorded.record = journal::testing::record_number(i);
    recorded.output.out = "out of " + std::to_string(i) + "\n";
    if (i % 3 == 0) recorded.output.err = "err of " + std::to_string(i) + "\n";
    recorded.command = "command " + std::to_string(i);
    return recorded;
}

// Until `done`, told by the recorder's descriptor; false after 60 s.
inline bool wait_for(Recorder& recorder, const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        pollfd poll_for{recorder.descriptor(), POLLIN, 0};
        ::poll(&poll_for, 1, 1000);
        recorder.settle();
    }
    return true;
}

}  // namespace wq::records::recorder::testing
