// The inputs and outputs of a task as specified, and the rules for their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/tree_reader.h"

namespace wq::files {

enum class Source : std::uint8_t {
    file,    // a file or folder at the manager; $OS and $ARCH in its path are the worker's
    buffer,  // bytes
    folder,  // an empty one
    url,     // fetched by the worker
    command  // a shell line that the worker runs: its stdout, or the file that it makes as %%
};

inline bool made_by_worker(Source source) {
    return source == Source::url || source == Source::command;
}

struct Input {
    Source source = Source::file;
    std::string from;            // path, bytes, URL or shell line
    std::optional<Piece> piece;  // of a file: this part of it
    std::string name;            // in the sandbox
    bool cached = false;         // stays at the worker for other tasks
};

struct Output {
    std::string name;      // in the sandbox
    std::string to;        // path at the manager
    bool watched = false;  // what the task appends to it is sent while it runs
    bool on_failure = true;
    bool on_success = true;
};

struct TaskFiles {
    std::vector<Input> inputs;
    std::vector<Output> outputs;
};

// Why these cannot be the files of one task, in one line; nothing: they can. Names are in the one form of
// relative_path().
std::optional<std::string> conflict(const TaskFiles& files);

// The path with $OS and $ARCH as uname(2) of a worker has them; another $NAME stays.
std::string for_platform(std::string_view path, std::string_view os, std::string_view arch);

// The shell line that leaves what it makes in `path`: as %%, or where it has none, as its stdout.
std::string command_into(std::string_view line, const std::string& path);

}  // namespace wq::files
