#include "net/contact/repeated_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace wq::net::contact {
namespace {

// A place whose answer comes when the test says so.
class Place {
  public:
    Status answer() {
        std::unique_lock lock(mutex_);
        ++asked_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
        return success();
    }
    void wait_until_asked() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return asked_ > 0; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int asked_ = 0;
    bool open_ = false;
};

// As on a shared file system that is away.
TEST(KeeperTest, ItsEndWaitsForNoPlaceThatHangs) {
    const auto place = std::make_shared<Place>();
    std::vector<std::string> said;
    RepeatedWorkOptions options;
    options.timeout = std::chrono::milliseconds(10);
    options.say = [&said](const std::string& text) { said.push_back(text); };
    options.not_ended = "it hangs";
    {
        RepeatedWork repeated(std::move(options));
        repeated.post([place] { return place->answer(); }, RepeatedWork::When::at_once);
        place->wait_until_asked();
    }
    EXPECT_EQ(said, std::vector<std::string>{"it hangs"});
    place->open();
}

TEST(KeeperTest, ItSaysOnceThatTheWorkFailsAndOnceThatItSucceedsAgain) {
    std::vector<std::string> said;
    std::atomic<bool> fails{true};
    RepeatedWorkOptions options;
    options.say = [&said](const std::string& text) { said.push_back(text); };
    options.failed = [](const std::string& why) { return "it fails: " + why; };
    options.succeeded_again = "it succeeds again";
    RepeatedWork repeated(std::move(options));
    const auto work = [&]() -> Status {
        if (fails) return Error{ExitCode::unreachable, "nobody is there"};
        return success();
    };
    const auto post_until = [&](std::size_t lines) {
        while (said.size() < lines) {
            repeated.post(work, RepeatedWork::When::at_once);
            std::this_thread::yield();
        }
    };
    post_until(1);
    fails = false;
    post_until(2);
    fails = true;
    post_until(3);
    EXPECT_EQ(said, (std::vector<std::string>{"it fails: nobody is there", "it succeeds again",
                                              "it fails: nobody is there"}));
}

TEST(KeeperTest, TheLastWorkIsDoneAtTheEndAndRepeatedUntilThen) {
    std::atomic<int> done{0};
    int last = 0;
    {
        RepeatedWorkOptions options;
        options.every = std::chrono::milliseconds(1);
        options.last = [&] { last = done; };
        RepeatedWork repeated(std::move(options));
        repeated.post(
            [&] {
                ++done;
                return success();
            },
            RepeatedWork::When::with_next_repetition);
        while (done < 3) std::this_thread::yield();
    }
    EXPECT_EQ(last, done);
    EXPECT_GE(last, 3);
}

}  // namespace
}  // namespace wq::net::contact
