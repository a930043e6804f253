// The folder of a cache that outlives its worker. Workers that use the same folder at the same time get
// separate parts of it.
#pragma once

#include <string>

#include "base/descriptor.h"
#include "files/trees/problem.h"

namespace wq::files::trees {

class KeptCache {
  public:
    // Takes an unused part of `folder`, or creates one. Each part belongs to one `host`, because locks may be
    // local to a host.
    Trouble take(const std::string& folder, const std::string& host);
    const std::string& path() const { return path_; }  // of the cache; empty: no part was taken

  private:
    std::string path_;
    Descriptor lock_;  // released when the process ends in any way
};

}  // namespace wq::files::trees
