// What has become of a run, for workers and factories that have its contact file.
#pragma once

#include <cstdint>
#include <string>

namespace wq::records {

// A run removes its contact file at its end; then this is read from the status beside it. resumable: its
// workers may wait for it; over: nothing will need them; no: it may run, or come, or it is the manager of a
// program.
enum class RunEnd : std::uint8_t { no, resumable, over };
RunEnd end_of_run(const std::string& contact);

}  // namespace wq::records
