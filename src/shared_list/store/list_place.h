// What tells one state of a list from another: "INODE SIZE MTIME".
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace wq::shared_list::store {

// MTIME as `stat -c %.9Y` of GNU prints it, since a master's shell makes the same text.
std::string identity_of(const struct stat& file);

std::optional<struct stat> stat_of(const std::string& path);

// The place of a shared list, which users write as "tasks.sh" or "user@host:tasks.sh".
struct ListPlace {
    std::string host;  // "user@host"; empty: this machine
    std::string file;
    bool operator==(const ListPlace&) const = default;
};

// The host ends at the first ':' before any '/'; that of an IPv6 address stands in brackets. `host`: of a
// word that names none. Error usage: an empty file or host, a host that ssh would take for an option.
Result<ListPlace> list_place(const std::string& word, const std::string& host);

std::string name_of(const ListPlace& place);

// Names that nobody else chooses, for logs and answers.

std::string random_word();  // 16 hexadecimal digits

// The files of a list, and how a name that a user gave leads to them.
struct Paths {
    std::string file;       // absolute, and no symbolic link
    std::string directory;  // that it is in
    std::string lock;
    std::string folder;  // FILE.runtask
    std::string edits;
    std::string previous_edits;
    std::string alive;
    std::string old;
    std::string fresh;     // the next list, while it is written
    std::string in_place;  // and more: see in_place_file() in new_list.h
};

// `~` and `~user` at the beginning are homes. If the name is a symbolic link, everything lies beside the file
// that it leads to, so that workers that use different names share one lock.
Result<Paths> paths_of(const std::string& name);

}  // namespace wq::shared_list::store
