// Owner, mode, ACL and extended attributes of a list, for the file that replaces it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/edit_log.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/list_store.h"
#include "shared_list/text/document.h"

namespace wq::shared_list::store {

// False: some cannot be given to `to`, for example the owner by another user than root.
bool copy_attributes(int from, const struct stat& of, int to);

// The next list, written aside from the present one and what differs, and put in its place.
class NewList {
  public:
    // On the disk, as Paths::fresh, with mode, owner, ACL and other attributes of the list.
    static Result<NewList> write(const Paths& paths, const struct stat& list,
                                 const std::vector<text::Splice>& splices);

    const std::string& identity() const { return identity_; }
    // Renaming it over the list keeps everything; otherwise, it is to be copied over the list.
    bool has_all_attributes() const { return has_all_attributes_; }
    // Atomic. Error: the list is as before, for example in a folder such as /tmp that only owners may rename
    // in.
    Status put_in_place() const;
    void drop() const;

  private:
    NewList(const Paths& paths, std::string identity, bool has_all)
        : paths_(&paths), identity_(std::move(identity)), has_all_attributes_(has_all) {}

    const Paths* paths_;
    std::string identity_;
    bool has_all_attributes_ = false;
};

// Identity of one that was not put in place; "": there is none.
std::string left_aside(const Paths& paths);

// A complete list that is still to be copied over the present one; nullopt: there is none. Its name says at
// which moment of the log: the log grows once it is copied, so that one that comes back after a power failure
// is not copied over later lists. And how long the present list is: what is beyond was appended since.
std::optional<std::string> in_place_file(const Paths& paths, const EditLog& log);

// For a list that other names lead to (hard links), or whose owner we cannot keep: its file stays, and is
// written over. After a crash amid it, finish_overwriting() does that from the complete file aside.
// Both return the list's identity.
Result<std::string> overwrite(const Paths& paths, std::uint64_t list_bytes, EditLog& log);
Result<std::string> finish_overwriting(const Paths& paths, const std::string& in_place, EditLog& log);

// Earlier files of a list, kept as links for a while: who had one open, such as `>>` of a long command,
// appends to it after it was replaced. Each is kept for 10 minutes, unless they become too many for that.

// Bytes of an old file after the first `copied`, up to its last whole line; nullopt: there is none yet.
// `begun`: bytes before these, of the line that they continue. What was taken for a line was a part of one.
std::optional<OldFile> whole_lines(std::uint64_t number, std::uint64_t copied, std::string begun,
                                   std::string bytes);

// How long a rewriting counts: the time that it `took`, or more if there are many old files. The longer this
// is, the less often workers rewrite the list, and the fewer old files there are after 10 minutes.
Duration rewriting_time(Duration took, std::size_t old_files);

class OldFiles {
  public:
    // `list`: the present file. A link to it is no old file: a crash left it.
    OldFiles(const Paths& paths, const struct stat& list);

    // The whole lines that were appended to them.
    std::vector<OldFile> appended() const;
    // Links of the list in this folder.
    nlink_t links_of_list() const { return links_of_list_.size(); }
    std::size_t count() const { return kept_.size(); }

    // OldFile::name: remembers that the bytes are in the list.
    Status copied(const std::string& name) const;
    // Removes the oldest while they take more than the free space, so that a small disk has room for changes.
    void make_room();
    // Keeps the present file, which is about to be replaced. Best effort: not every file system has links.
    void keep_list();

  private:
    struct Kept {
        std::uint64_t number = 0;
        std::uint64_t copied = 0;  // so many bytes are in the list
        std::uint64_t bytes = 0;
        timespec changed{};  // not before it was replaced, as that changes its number of links
        bool has_more() const { return bytes > copied; }
    };
    std::string path(std::uint64_t number, std::uint64_t copied) const;
    void remove_oldest(const timespec& now);

    const Paths& paths_;
    struct stat list_;
    std::vector<Kept> kept_;  // by number
    std::vector<std::string> links_of_list_;
};

}  // namespace wq::shared_list::store
