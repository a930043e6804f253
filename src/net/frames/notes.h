// Connection events for a debug log; bounded, so nobody has to read them.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/frames/transport.h"

namespace wq::net::frames {

class NoteBook {
  public:
    static constexpr std::size_t most = 1000;

    // Callable from any thread.
    void put(std::string_view subsystem, std::string text, bool refusal = false) {
        const std::lock_guard lock(mutex_);
        if (notes_.size() < most)
            notes_.push_back({subsystem, std::move(text), refusal});
        else
            ++lost_;
    }
    std::vector<Note> take() {
        const std::lock_guard lock(mutex_);
        if (lost_ > 0) notes_.push_back({"tcp", "and " + std::to_string(lost_) + " more such lines", false});
        lost_ = 0;
        return std::exchange(notes_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<Note> notes_;
    std::size_t lost_ = 0;
};

}  // namespace wq::net::frames
