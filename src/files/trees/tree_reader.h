// Reads a file, or a folder with all its contents, as a stream (tree_format.h).
//
// A link in a folder is sent as a link if it stays inside. If it leads out, its target file is sent. A link
// at the top is followed. Anything but a file, folder or link is a problem. A file that is written to
// meanwhile is also a problem, because the bytes read may match no state of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/descriptor.h"
#include "files/trees/problem.h"
#include "files/trees/tree_format.h"

namespace wq::files::trees {

// The bytes `first` to `last` of a file, both included, counted from 0.
struct Piece {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

class TreeReader {
  public:
    // Opens nothing yet; the first read() reports problems with the path.
    explicit TreeReader(std::string path, std::optional<Piece> piece = std::nullopt);

    // Appends at least one byte, and about `most` bytes, of the stream, unless it is done(). Do not read
    // after a problem.
    Trouble read(std::string& out, std::size_t most);
    bool done() const { return done_; }

  private:
    struct Folder {
        Descriptor descriptor;
        std::string path;
        std::vector<std::string> names;  // not yet read, the last first
    };
    struct File {
        Descriptor descriptor;
        std::string path;
        std::uint64_t left = 0;
        // Values when it was opened.
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
    enum class Links : std::uint8_t { follow, keep };
    Trouble take(const Folder* parent, const std::string& name, Links links, std::string& out);

    std::string path_;
    std::optional<Piece> piece_;
    bool begun_ = false;
    bool done_ = false;
    std::vector<Folder> folders_;
    std::optional<File> file_;  // the one being read
};

}  // namespace wq::files::trees
