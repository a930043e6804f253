// Writes lines for the user, one after the other, on a separate thread. So add_line() never waits for `say`,
// and `say` may call the manager.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace wq::api {

// Prints a line to stderr, if the program gave no `say`.
void print_line(const std::string& line);

class Lines {
  public:
    using Say = std::function<void(const std::string&)>;

    explicit Lines(Say say);
    ~Lines() { close(); }
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;

    // Callable on any thread. While `say` is busy, up to 10,000 lines wait; further lines are only counted.
    void add_line(std::string line);
    // Writes the waiting lines first. Lines put later are dropped.
    void close();

  private:
    void run();

    const Say say_;
    std::mutex mutex_;
    std::condition_variable something_;
    std::deque<std::string> waiting_;
    std::uint64_t dropped_ = 0;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace wq::api
