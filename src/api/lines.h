// Lines for the user, said one after the other on a thread of their own: whoever has one goes on at once, and
// what is called with it may call the manager.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace wq::api {

class Lines {
  public:
    using Say = std::function<void(const std::string&)>;

    explicit Lines(Say say);
    ~Lines() { close(); }
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;

    // On any thread. While `say` takes its time 10,000 wait; those beyond are counted instead.
    void put(std::string line);
    // What waits is said first. What is put later is not.
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
