// Reads a file, or a folder with all in it, as the stream of tree_format.h.
//
// A link in a folder is sent as a link where it stays inside; one that leads out is read as the file that it
// leads to. A link at the top is followed. What is no file, folder or link is a problem, and so is a file
// that others write to meanwhile: what was read then is no state that it ever had.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "files/problem.h"
#include "files/tree_format.h"

namespace wq::files {

// Bytes first to last of a file, both included, from 0.
struct Piece {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

class TreeReader {
  public:
    // Opens nothing yet: the first read() tells what is wrong with the path.
    explicit TreeReader(std::string path, std::optional<Piece> piece = std::nullopt);

    // Appends at least one byte and about `most` of the stream, unless it is over: then done(). After a
    // problem nothing more is to be read.
    Trouble read(std::string& out, std::size_t most);
    bool done() const { return done_; }

  private:
    struct Folder {
        Descriptor descriptor;
        std::string path;
        std::vector<std::string> names;  // that are left, the last first
    };
    struct File {
        Descriptor descriptor;
        std::string path;
        std::uint64_t left = 0;
        // As it was when it was opened.
        std::int64_t modified_s = 0;
        std::int64_t modified_ns = 0;
        std::int64_t size = 0;
    };

    Trouble begin(std::string& out);
    Trouble next_entry(std::string& out);
    Trouble enter(Descriptor folder, const std::string& path, const std::string& name, std::uint32_t mode,
                  std::string& out);
    Trouble open_file(Descriptor file, const std::string& path, const std::string& name, std::string& out);
    Trouble read_link(const Folder& parent, const std::string& name, std::string& out);
    Trouble read_file(std::string& out, std::size_t most);
    Trouble take(const Folder* parent, const std::string& name, bool follow, std::string& out);

    std::string path_;
    std::optional<Piece> piece_;
    bool begun_ = false;
    bool done_ = false;
    std::vector<Folder> folders_;
    std::optional<File> file_;  // in the middle of
};

}  // namespace wq::files
