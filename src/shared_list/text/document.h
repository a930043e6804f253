// A shared list in memory: its lines, and what differs from the file that it was read from.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "shared_list/text/edit.h"
#include "shared_list/text/marked_line.h"

namespace wq::shared_list::text {

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
    // Error bad_input: a NUL byte, which no text has; the message begins with "line N: ".
    static Result<Document> read(std::string_view bytes);
    static Status check(std::string_view bytes);  // the same error

    std::string bytes() const;
    std::uint64_t lines() const { return lines_.size(); }
    const MarkedLine& line(std::uint64_t number) const { return lines_[number - 1].line; }  // from 1

    // An edit whose line is gone is made as far as it can be; see edit.h.
    void apply(const Edit& edit);

    // Whether the edit has a line to mark.
    bool finds_line(const Take& edit) const { return open_line(edit) != 0; }
    bool finds_line(const End& edit) const;
    // The command of the line was edited while the worker ran it.
    bool runs_another(const End& edit) const;

    // The line nearest to `number` for which `fits` is true; 0: none.
    template <class Fits>
    std::uint64_t nearest(std::uint64_t number, Fits fits) const {
        for (std::uint64_t distance = 0; distance <= number || number + distance <= lines(); ++distance) {
            for (const std::uint64_t at : {number - distance, number + distance}) {
                if (at >= 1 && at <= lines() && fits(line(at))) return at;
            }
        }
        return 0;
    }

    // Numbers of the lines that a choice depends on, ascending: all but text and lines that are done.
    const std::set<std::uint64_t>& live_lines() const { return live_; }
    std::int64_t last_worker() const { return last_worker_; }  // -1: none has joined
    // Numbers changed by edits, so that those kept elsewhere follow: `#LASTWORKER` became line 1.
    std::uint64_t lines_inserted_in_front() const { return inserted_; }

    // What makes the file that was read into this document; ascending, not touching. For the rewriter.
    std::vector<Splice> splices() const;
    bool changed() const { return !changed_.empty(); }
    void written();  // the file is now as this document
    std::uint64_t bytes_in_file() const;

    // Edits between begin_change() and keep_change() are taken back by undo_change(): others were faster.
    void begin_change();
    void keep_change() { before_.reset(); }
    void undo_change();

    // Recomputes what is kept beside the lines; "": all is right. For tests.
    std::string audit() const;

  private:
    struct Kept {
        MarkedLine line;
        bool has_end = true;  // LF
    };
    static void append_bytes(std::string& to, const Kept& kept);
    void make(const Join& edit);
    void make(const Take& edit);
    void make(const End& edit);
    void make(const Append& edit);
    std::uint64_t open_line(const Take& edit) const;
    std::uint64_t running_line(const End& edit) const;
    std::uint64_t given_up_line(const End& edit) const;
    std::uint64_t open_line(const End& edit) const;
    bool end_at(std::uint64_t number, const End& edit);
    void replace(std::uint64_t number, const std::string& text);
    void append_line(std::string_view text);
    void insert_front(std::string_view text);
    void index(std::uint64_t number);

    std::vector<Kept> lines_;
    // The bytes of each line with its line end; 0: it is not in the file. splices() reads only these, because
    // walking all lines is slow, and a change by another worker makes it start again.
    std::vector<std::uint64_t> bytes_in_file_;
    std::set<std::uint64_t> changed_;  // numbers of the lines that are not so in the file
    std::set<std::uint64_t> live_;
    std::int64_t last_worker_ = -1;
    std::uint64_t last_worker_at_ = 0;  // its line; 0: none
    std::uint64_t inserted_ = 0;

    // How the document was at begin_change().
    struct Before {
        struct Replaced {
            std::uint64_t number = 0;
            Kept kept;
            bool changed = false;
        };
        std::vector<Replaced> replaced;  // in the order of the edits
        std::uint64_t lines = 0;
        std::uint64_t inserted = 0;
        std::int64_t last_worker = -1;
        std::uint64_t last_worker_at = 0;
    };
    void remember(std::uint64_t number);
    void remove_front();
    std::optional<Before> before_;
};

// Edits after which the lines that the worker runs wait again.
std::vector<Edit> release(const Document& list, WorkerId worker, const std::string& stamp);

// `runtask --reset`: a list as it was before any worker came.

// The list without marks from line `from` on; lines above stay as they are. 0: all.
std::string reset(const Document& list, std::uint64_t from);

// How many lines it makes wait again.
std::uint64_t lines_reset(const Document& list, std::uint64_t from);

}  // namespace wq::shared_list::text
