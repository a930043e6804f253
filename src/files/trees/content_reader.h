// Reads the content of an input as a stream (tree_format.h): a file, a folder, a piece of a file, or bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "files/trees/task_files.h"
#include "files/trees/tree_reader.h"

namespace wq::files::trees {

class ContentReader {
  public:
    // `input`: a file, or a buffer whose bytes stay in place. Inputs that the worker creates have no stream
    // here.
    explicit ContentReader(const Input& input);

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
