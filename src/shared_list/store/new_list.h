// Owner, mode, ACL and extended attributes of a list, for the file that replaces it.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "shared_list/store/edit_log.h"
#include "shared_list/store/paths.h"
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

}  // namespace wq::shared_list::store
