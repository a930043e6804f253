// Detects writes to files since a point in time without reading them: by names, sizes and times.
#pragma once

#include <cstdint>
#include <string>

namespace wq::files {

enum class Compared : std::uint8_t {
    modification,  // the time of the last write; a further name of a file changes nothing
    any_change  // and inode, names and time of change, which no program can set back; and what links lead to
};

struct Fingerprint {
    std::string print;  // equal: nothing was written, as far as times tell
    // The last change, in nanoseconds since 1970. A write within the same tick of the file system's clock may
    // leave the same times: what changed so shortly before it was looked at may change again unseen.
    std::int64_t newest_ns = 0;
    std::int64_t taken_ns = 0;  // when it was looked at

    // Whether a later write shows. Clocks of file systems tick every 4 to 10 ms; where all times are whole
    // seconds, as FAT's, in 2 s.
    bool settled() const;
};

// Of a file or a folder with all in it.
Fingerprint fingerprint_of(const std::string& path, Compared compared);

}  // namespace wq::files
