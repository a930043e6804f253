// Remembers content keys until their source changes, so that a gigabyte is read once, not for every task.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "files/trees/content_key.h"
#include "files/trees/fingerprint.h"

namespace wq::files::trees {

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
