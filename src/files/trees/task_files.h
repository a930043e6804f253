// The inputs and outputs of a task as specified, and the rules for their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "files/trees/tree_reader.h"

namespace wq::files::trees {

enum class InputSource : std::uint8_t {
    file,    // a file or folder at the manager; its path may have the worker's $OS and $ARCH
    buffer,  // bytes
    folder,  // an empty folder
    url,     // fetched by the worker
    command  // a shell line that the worker runs: its stdout, or the file that it creates as %%
};

inline bool made_by_worker(InputSource source) {
    return source == InputSource::url || source == InputSource::command;
}

struct InputFile {
    InputSource source = InputSource::file;
    std::string from;            // path, bytes, URL or shell line
    std::optional<Piece> piece;  // only this part of a file
    std::string name;            // in the sandbox
    bool cached = false;         // stays at the worker for other tasks
};

struct OutputFile {
    std::string name;      // in the sandbox
    std::string to;        // path at the manager
    bool watched = false;  // appended data is sent while the task runs
    bool on_failure = true;
    bool on_success = true;
    bool cached = false;  // only said in logs: outputs are stored here, and not kept by workers
};

struct TaskFiles {
    std::vector<InputFile> inputs;
    std::vector<OutputFile> outputs;
};

// Why these cannot be the files of one task, in one line; nullopt if they can. Names are as from
// relative_path().
std::optional<std::string> conflict(const TaskFiles& files);

// The path with $OS and $ARCH replaced by a worker's uname(2) values; any other $NAME stays.
std::string for_platform(std::string_view path, std::string_view os, std::string_view arch);

// The shell line that writes its result to `path`: as %%, or, if the line has no %%, as its stdout.
std::string command_into(std::string_view line, const std::string& path);

// Reads the content of an input as a stream (tree_format.h): a file, a folder, a piece of a file, or bytes.
class ContentReader {
  public:
    // `input`: a file, or a buffer whose bytes stay in place. Inputs that the worker creates have no stream
    // here.
    explicit ContentReader(const InputFile& input);

    // As TreeReader::read().
    Trouble read(std::string& out, std::size_t most);
    bool done() const;

  private:
    struct Bytes {
        std::string head;
        std::string_view middle;
        std::string tail;
        void take(std::string& out, std::size_t most);
        bool empty() const { return head.empty() && middle.empty() && tail.empty(); }
    };
    std::variant<TreeReader, Bytes> from_;
};

}  // namespace wq::files::trees
