// A shared list in memory: its lines, and what differs from the file that it was read from.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "marked_list/edit.h"
#include "marked_list/marked_line.h"

namespace wq::marked_list {

// Replace `length` bytes of the file at `offset` by `text`.
struct Splice {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::string text;
    bool operator==(const Splice&) const = default;
};

class Document {
  public:
    Document() = default;
    // Error bad_input: NUL bytes (no text), or a line above 16 MiB; the message begins with "line N: ".
    static Result<Document> read(std::string_view bytes);

    std::string bytes() const;
    std::uint64_t lines() const { return lines_.size(); }
    const MarkedLine& line(std::uint64_t number) const { return lines_[number - 1].line; }  // from 1

    void apply(const Edit& edit);

    // Numbers of the lines that a choice depends on, ascending: all but text and lines that are done.
    const std::set<std::uint64_t>& live_lines() const { return live_; }
    std::int64_t last_worker() const { return last_worker_; }  // -1: none has joined
    // Numbers changed by edits, so that those kept elsewhere follow: `#LASTWORKER` became line 1.
    std::uint64_t lines_inserted_in_front() const { return inserted_; }

    // What makes the file that was read into this document; ascending, not touching. For the rewriter.
    std::vector<Splice> splices() const;
    bool changed() const { return changed_; }
    void written();  // the file is now as this document

    // Recomputes what is kept beside the lines; "": all is right. For tests.
    std::string audit() const;

  private:
    struct Kept {
        MarkedLine line;
        std::uint64_t bytes_in_file = 0;  // with its line end; 0: it is not in the file
        bool has_end = true;              // LF
        bool changed = false;
    };
    void apply_one(const Join& edit);
    void apply_one(const Take& edit);
    void apply_one(const End& edit);
    void apply_one(const Append& edit);
    void replace(std::uint64_t number, std::string text);
    void append_line(std::string text);
    void insert_front(std::string text);
    std::uint64_t find(std::uint64_t number, std::string_view searched) const;  // 0: nowhere
    void index(std::uint64_t number);

    std::vector<Kept> lines_;
    std::set<std::uint64_t> live_;
    std::int64_t last_worker_ = -1;
    std::uint64_t last_worker_at_ = 0;  // its line; 0: none
    std::uint64_t inserted_ = 0;
    bool changed_ = false;
};

}  // namespace wq::marked_list
