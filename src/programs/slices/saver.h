// Saves a checkpoint now and then, whatever the main thread does: a slice may take hours.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"

namespace wq::programs::slices {

class Saver {
  public:
    // `save` throws std::runtime_error if it cannot; `say` gets a line then, once for the same reason. Both
    // are called by this thread and by save() and finish(), not at the same time. The first save is made
    // here; then one `every` so long; 0: none of its own.
    Saver(std::function<void()> save, std::function<void(const std::string&)> say, Duration every);
    ~Saver();
    Saver(const Saver&) = delete;

    void save();
    // The last save. Returns whether it succeeded.
    bool finish();

  private:
    void run(Duration every);
    void end_thread();

    std::function<void()> save_;
    std::function<void(const std::string&)> say_;
    std::mutex saving_;
    std::string problem_;  // of the save before; empty: none
    std::mutex mutex_;
    std::condition_variable ending_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace wq::programs::slices
