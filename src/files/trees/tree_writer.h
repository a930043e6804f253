// Writes the file or folder of a stream (tree_format.h). It writes under a temporary name beside the target,
// and renames it in one step when it is complete. For kept files the temporary name is always the same, so
// that the next writer of the target removes what a killed process left there. No stream can change anything
// outside the target: names are single components, folders are entered by descriptor, and links that would
// lead out are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "files/trees/problem.h"
#include "files/trees/tree_format.h"

namespace wq::files::trees {

class TreeWriter {
  public:
    enum class Purpose {
        kept,     // the user's: its owner may write to it, and it is on the disk before it is renamed
        sandbox,  // a task's own: its owner may write to it
        shared    // in a cache: nobody may write to its files
    };
    // `target`: its folder is created if missing.
    TreeWriter(std::string target, Purpose purpose);
    ~TreeWriter();  // removes an unfinished file or folder
    TreeWriter(TreeWriter&&) noexcept = default;
    TreeWriter& operator=(TreeWriter&&) = delete;

    // Writes the next bytes of the stream, which may be split anywhere. Do not write after a problem.
    Trouble write(std::string_view bytes);
    bool complete() const { return complete_; }  // the end was written

    // Called once complete(): puts the result in place of the target.
    Trouble finish();

    std::uint64_t bytes_of_files() const { return bytes_of_files_; }

  private:
    struct Folder {
        Descriptor descriptor;
        std::uint32_t mode = 0;
    };

    Trouble make(const Entry& entry);
    Trouble make_root(const Entry& entry);
    Trouble make_inner(const Entry& entry);
    Trouble make_file(const Entry& entry);
    Trouble make_folder(const Entry& entry);
    Trouble make_link(const Entry& entry);
    Trouble leave();
    Trouble write_file(std::string_view& bytes);
    Trouble end_file();
    bool durable() const { return purpose_ == Purpose::kept; }
    Trouble prepare();
    void restore();
    bool hold(int root);
    bool is_ours() const;
    Trouble refuse_what_is_there() const;
    Trouble move_to_target();
    int place() const { return folders_.empty() ? beside_.get() : folders_.back().descriptor.get(); }
    const std::string& name_of(const Entry& entry) const {
        return folders_.empty() ? temporary_ : entry.name;
    }

    std::string target_;
    Purpose purpose_;
    Descriptor beside_;       // the target's folder
    std::string name_;        // the target's name in it
    std::string temporary_;   // the temporary name in it; empty: nothing is created yet
    bool is_common_ = false;  // temporary_ is the name that all writers of the target use
    Descriptor hold_;         // then locked while this process writes
    std::string pending_;     // a part of an entry
    std::vector<Folder> folders_;
    std::optional<Descriptor> file_;
    std::uint32_t file_mode_ = 0;
    std::uint64_t file_left_ = 0;
    std::uint64_t bytes_of_files_ = 0;
    bool has_root_ = false;
    bool is_folder_ = false;
    bool complete_ = false;
};

}  // namespace wq::files::trees
