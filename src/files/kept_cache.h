// The folder of a cache that outlives its worker. Workers that use the same folder at the same time get
// separate parts of it.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "files/problem.h"

namespace wq::files {

class KeptCache {
  public:
    // Takes a part of `folder` that nobody has, or makes one; parts are of one `host`, since locks may be.
    Trouble take(const std::string& folder, const std::string& host);
    const std::string& path() const { return path_; }  // of the contents; empty: none was taken

  private:
    std::string path_;
    Descriptor lock_;  // goes with its process, however that ends
};

}  // namespace wq::files
