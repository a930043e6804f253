// The manager as a program has it, without workers.
#include "work_queue/manager.h"

#include <gmock/gmock.h>

#include <cmath>
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

TEST(Manager, WhatCanBeNoTaskIsRefused) {
    ManagerOptions options;
    options.listen = false;
    Manager manager(options);
    const auto refused = [&](Task task) {
        return manager.submit(std::move(task)) == 0 ? manager.last_error() : "taken";
    };
    EXPECT_EQ(refused(Task("true").cores(-5)),
              "cores(-5): give a number from 0 to 100000, or -1 for not specified");
    EXPECT_EQ(refused(Task("true").memory(-2)),
              "memory(-2): give a number of MB from 0 to 1099511627776 (1 EiB), or -1 for not specified");
    EXPECT_THAT(refused(Task("true").disk((std::int64_t{1} << 40) + 1)),
                HasSubstr("from 0 to 1099511627776 (1 EiB)"));
    EXPECT_THAT(refused(Task("true").disk(INT64_MIN)), HasSubstr("disk(-9223372036854775808)"));
    EXPECT_THAT(refused(Task::range("f", 0, 9).gpus(-2)), HasSubstr("gpus(-2)"));
    EXPECT_THAT(refused(Task("true").cores(1e9)), HasSubstr("cores(1e+09)"));
    EXPECT_THAT(refused(Task("true").gpus(std::nan(""))), HasSubstr("gpus(nan)"));
    EXPECT_EQ(refused(Task::packed_call("", "\x90")), "a call needs the name of a function");
    EXPECT_EQ(refused(Task::range("", 0, 9)), "a call needs the name of a function");
    EXPECT_EQ(refused(Task("true").feature("function:f")),
              "feature('function:f'): calls of the function require it by themselves");
    EXPECT_TRUE(manager.empty());
    EXPECT_EQ(refused(Task("true").cores(-1).memory(0)), "taken");
}

TEST(Manager, AMisspeltSettingIsToldTheNearest) {
    ManagerOptions options;
    options.listen = false;
    options.say = [](const std::string&) {};
    Manager manager(options);
    const auto refused = [&](const char* name) {
        return manager.tune(name, 1) ? "taken" : manager.last_error();
    };
    EXPECT_EQ(refused("hungry-minimun"),
              "tune: unknown parameter 'hungry-minimun' (did you mean 'hungry-minimum'?)");
    EXPECT_EQ(refused("keepalive_interval"),
              "tune: unknown parameter 'keepalive_interval' (did you mean 'keepalive-interval'?)");
    EXPECT_EQ(refused("nonsense"), "tune: unknown parameter 'nonsense'");
    EXPECT_EQ(refused(""), "tune: unknown parameter ''");
}

TEST(Manager, DisconnectedWorkersAreLostAtOnceOrAfterTenSeconds) {
    ManagerOptions options;
    options.listen = false;
    options.say = [](const std::string&) {};
    Manager manager(options);
    for (const double seconds : {0.0, 10.0, 600.0}) EXPECT_TRUE(manager.tune("reconnect-timeout", seconds));
    for (const double seconds : {-1.0, 0.5, 9.9, HUGE_VAL, double{NAN}}) {
        EXPECT_FALSE(manager.tune("reconnect-timeout", seconds));
        EXPECT_EQ(manager.last_error(), "tune: reconnect-timeout takes 0, or a number of at least 10");
    }
}

TEST(Manager, WhoAskedForAKeyIsNamed) {
    ManagerOptions options;
    options.port = 0;
    options.require_key = true;
    try {
        const Manager manager(options);
        FAIL() << "it was taken";
    } catch (const SetupError& error) {
        EXPECT_EQ(error.exit_code(), 77);
        EXPECT_THAT(error.what(), HasSubstr("a key is required (require_key) and there is none"));
    }
}

// Of a manager that never came to be nobody needs to know that its port was open.
TEST(Manager, AnOpenPortIsSaidOnceTheManagerIsThere) {
    std::string said;
    ManagerOptions options;
    options.port = 0;
    options.say = [&](const std::string& line) { said += line + "\n"; };
    options.transactions_log = "/nowhere/log";
    EXPECT_THROW(Manager{options}, SetupError);
    EXPECT_EQ(said, "");
    options.transactions_log.clear();
    { const Manager manager(options); }
    EXPECT_THAT(said, HasSubstr("has no password"));
}

// Two streams are to fit into a frame.
TEST(Manager, AnOutputLimitBeyondWhatTravelsIsRefused) {
    ManagerOptions options;
    options.listen = false;
    options.output_limit = (1u << 30) + 1;
    try {
        const Manager manager(options);
        FAIL() << "it was taken";
    } catch (const SetupError& error) {
        EXPECT_EQ(error.exit_code(), 64);
        EXPECT_THAT(error.what(), HasSubstr("at most 1 GiB"));
    }
    options.output_limit = 1u << 30;
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
