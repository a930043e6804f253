// Owner, mode, ACL and extended attributes of a list, for the file that replaces it.
#pragma once

#include <sys/stat.h>

namespace wq::shared_list::store {

// False: some cannot be given to `to`, for example the owner by another user than root.
bool copy_attributes(int from, const struct stat& of, int to);

}  // namespace wq::shared_list::store
