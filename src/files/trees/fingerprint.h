// Detects writes to files since a point in time without reading them: by names, sizes and times.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "files/trees/content_key.h"

namespace wq::files::trees {

enum class Compared : std::uint8_t {
    modification,  // the time of the last write; a new hard link changes nothing
    any_change     // also inode, names, time of change (which programs cannot set back), and link targets
};

struct Fingerprint {
    std::string print;  // if equal, nothing was written, as far as times show
    // The last change, in nanoseconds since 1970. Writes within one tick of the file system's clock may leave
    // the same times, so if this is just before taken_ns, a later write may go unnoticed.
    std::int64_t newest_ns = 0;
    std::int64_t taken_ns = 0;  // when the fingerprint was taken

    // Whether a later write would be noticed. File systems' clocks tick every 4 to 10 ms, or every 2 s if all
    // times are whole seconds, as on FAT.
    bool settled() const;
};

// The fingerprint of a file, or of a folder with all its contents.
Fingerprint fingerprint_of(const std::string& path, Compared compared);

// Remembers content keys until their source changes, so that a gigabyte is read once, not for every task.
class KeyMemo {
  public:
    // The content that has this fingerprint (Compared::any_change) now; nullopt if it must be read. `name`:
    // the path, and which part of it.
    std::optional<Content> known(const std::string& name, const Fingerprint& now) const;
    // `before`: the fingerprint from before it was read.
    void keep(const std::string& name, const Fingerprint& before, Content content);

  private:
    struct Known {
        std::string print;
        Content content;
    };
    std::map<std::string, Known> known_;
};

}  // namespace wq::files::trees
