// A program grows by a factory, which is told anew while it runs.
#include <sys/stat.h>

#include <fstream>

#include "program_fixture.h"
#include "work_queue/factory.h"

namespace {

class Growing : public wq::testing::Program {
  protected:
    wq::FactoryOptions options() {
        wq::FactoryOptions options;
        options.manager = &*manager_;
        options.settings.min_workers = 0;
        options.settings.max_workers = 2;
        options.settings.cores = 1;
        options.settings.timeout = 60;
        options.settings.worker_extra_options = "--grace 0";
        options.scratch_dir = folder_ + "/jobs";
        options.factory_binary = FACTORY;
        options.options = {"--cycle", "0.1", "--status-interval", "0.2"};
        options.say = [this](const std::string& line) {
            std::ofstream(folder_ + "/said", std::ios::app) << line << "\n";
        };
        return options;
    }
    template <class Condition>
    void wait_until(Condition&& condition) {
        while (!condition())
            ASSERT_FALSE(manager_->wait_at_most(std::chrono::milliseconds(20)).has_value())
                << "nothing ends meanwhile";
    }
};

TEST_F(Growing, KeepsAsManyWorkersAsItIsToldTo) {
    wq::Factory factory(options());
    EXPECT_FALSE(factory.running());
    EXPECT_FALSE(factory.report().has_value());
    factory.start();
    factory.start();
    EXPECT_TRUE(factory.running());
    for (int n = 0; n < 8; ++n) manager_->submit(wq::Task("echo done"));
    int ended = 0;
    while (!manager_->empty())
        if (const auto task = manager_->wait(5)) {
            EXPECT_EQ(task->output(), "done\n");
            ++ended;
        }
    EXPECT_EQ(ended, 8);
    // Two held tasks need two workers, three need the third that it may have then.
    ASSERT_EQ(::mkfifo((folder_ + "/gate").c_str(), 0600), 0);
    for (int n = 0; n < 3; ++n) manager_->submit(wq::Task("read x < " + folder_ + "/gate; echo $x"));
    wait_until([&] { return manager_->stats().workers_busy == 2; });
    wq::FactorySettings settings = factory.settings();
    EXPECT_EQ(settings.max_workers, 2);
    settings.max_workers = 3;
    EXPECT_TRUE(factory.set(settings));
    wait_until([&] { return manager_->stats().workers_busy == 3; });
    wait_until([&] { return factory.report() && factory.report()->workers_connected == 3; });
    EXPECT_EQ(factory.report()->workers_wanted, 3);
    EXPECT_EQ(factory.report()->tasks_on_workers, 3);
    factory.stop();
    EXPECT_FALSE(factory.running());
    wait_until([&] { return manager_->stats().workers_connected == 0; });
    EXPECT_EQ(manager_->cancel_all().size(), 3u);
}

TEST_F(Growing, SaysWhatIsWrong) {
    EXPECT_THROW(wq::Factory(wq::FactoryOptions{}), wq::SetupError) << "no manager";
    wq::FactoryOptions two = options();
    two.manager_name = "sims";
    EXPECT_THROW(wq::Factory{two}, wq::SetupError) << "two ways";
    wq::FactoryOptions missing = options();
    missing.scratch_dir = "/proc/none";
    EXPECT_THROW(wq::Factory(missing).start(), wq::SetupError);
    wq::FactoryOptions unknown = options();
    unknown.batch_type = "none";
    wq::Factory factory(unknown);
    EXPECT_THROW(factory.start(), wq::SetupError);
    EXPECT_FALSE(factory.running());
    factory.stop();
    std::ifstream said(folder_ + "/said");
    const std::string text{std::istreambuf_iterator<char>(said), {}};
    EXPECT_NE(text.find("factory: -T 'none': there are "), std::string::npos) << text;
}

}  // namespace
