// Makes the file or folder of a stream (tree_format.h): under a name of its own beside the target, which it
// gets in one step when all is there. What is to be kept has the same name of its own each time: what a
// killed process has left there, the next writer of the target removes. Whatever the stream says, nothing
// outside the target is touched: names are single components, each folder is entered by its descriptor, and
// links that would lead out are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "files/problem.h"
#include "files/tree_format.h"

namespace wq::files {

class TreeWriter {
  public:
    enum class Purpose {
        kept,     // the user's: its owner may write to it, and all is on the disk before it has its name
        sandbox,  // a task's own: its owner may write to it
        shared    // of a cache: nobody may write to its files
    };
    // `target`: its folder is made if missing.
    TreeWriter(std::string target, Purpose purpose);
    ~TreeWriter();  // of an unfinished one nothing is left
    TreeWriter(TreeWriter&&) noexcept = default;
    TreeWriter& operator=(TreeWriter&&) = delete;

    // The next bytes of the stream, cut anywhere. After a problem nothing more is to be written.
    Trouble write(std::string_view bytes);
    bool complete() const { return complete_; }  // the end was there

    // Once complete(): the target is there, in place of what had its name.
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
    std::string temporary_;   // the same of what is not complete; empty: nothing is made yet
    bool is_common_ = false;  // that name: other writers of the target look for it, too
    Descriptor hold_;         // locked then, for as long as this process has it
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

}  // namespace wq::files
