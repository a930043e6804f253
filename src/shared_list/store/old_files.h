// Earlier files of a list, kept as links for a while: who had one open, such as `>>` of a long command,
// appends to it after it was replaced. Each is kept for 10 minutes, unless they become too many for that.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/list_store.h"
#include "shared_list/store/paths.h"

namespace wq::shared_list::store {

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
