// The content of an input as a stream (tree_format.h): a file, a folder, a piece of a file, or bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "files/task_files.h"
#include "files/tree_reader.h"

namespace wq::files {

class ContentReader {
  public:
    // `input`: a file or a buffer, whose bytes stay where they are; what the worker makes by itself has no
    // stream here.
    explicit ContentReader(const Input& input);

    // As TreeReader's.
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

}  // namespace wq::files
