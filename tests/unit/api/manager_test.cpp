// The manager as a program has it, without workers.
#include "work_queue/manager.h"

#include <gmock/gmock.h>

#include <thread>

namespace wq {
namespace {

using ::testing::HasSubstr;

TEST(Manager, TheLastErrorIsThatOfTheLastCallOfThisThreadThatFailed) {
    ManagerOptions options;
    options.listen = false;
    options.say = [](const std::string&) {};
    Manager manager(options);
    std::thread([&] {
        EXPECT_EQ(manager.last_error(), "");
        EXPECT_FALSE(manager.tune("nonsense", 1));
        EXPECT_THAT(manager.last_error(), HasSubstr("nonsense"));
        EXPECT_TRUE(manager.tune("hungry-minimum", 1));
        EXPECT_GT(manager.submit(Task("true")), 0);
        EXPECT_FALSE(manager.wait_at_most(std::chrono::nanoseconds(0)));
        EXPECT_THAT(manager.last_error(), HasSubstr("nonsense")) << "nothing has failed since";
        EXPECT_EQ(manager.submit_range("f", 1, 1), 0);
        EXPECT_THAT(manager.last_error(), HasSubstr("at least one index"));
        EXPECT_FALSE(manager.write_contact("/nowhere/contact"));
        EXPECT_THAT(manager.last_error(), HasSubstr("does not listen"));
        std::thread([&] { EXPECT_EQ(manager.last_error(), ""); }).join();
    }).join();
}

// Two streams are to fit into a frame.
TEST(Manager, AnOutputLimitBeyondWhatTravelsIsRefused) {
    ManagerOptions options;
    options.listen = false;
    options.output_limit = (256u << 20) + 1;
    try {
        const Manager manager(options);
        FAIL() << "it was taken";
    } catch (const SetupError& error) {
        EXPECT_EQ(error.exit_code(), 64);
        EXPECT_THAT(error.what(), HasSubstr("at most 256 MiB"));
    }
    options.output_limit = 256u << 20;
    const Manager manager(options);
}

// Before the end, whatever it calls meanwhile.
TEST(Manager, EveryLineIsSaidBeforeTheEnd) {
    int said = 0;
    std::int64_t submitted = 0;
    {
        Manager* own = nullptr;
        ManagerOptions options;
        options.listen = false;
        options.say = [&](const std::string&) {
            ++said;
            submitted = std::max(submitted, own->stats().tasks_submitted);
            own->submit(Task("true"));
            own->cancel_all();
        };
        Manager manager(options);
        own = &manager;
        for (int i = 0; i < 20; ++i) manager.tune("nonsense", 1);
        while (manager.stats().tasks_submitted == 0) std::this_thread::yield();
    }
    EXPECT_EQ(said, 20);
    EXPECT_GT(submitted, 0);
}

}  // namespace
}  // namespace wq
