#include "programs/runtask/options.h"

#include <gtest/gtest.h>

namespace {

using namespace wq::programs::runtask;
using Words = std::vector<std::string>;

Options options_of(std::vector<const char*> words) {
    words.insert(words.begin(), "runtask");
    return parse_options(static_cast<int>(words.size()), words.data(),
                         [](const char*) { return std::string(); })
        .value();
}

TEST(RuntaskRanks, AreRunByAManagerWithTheSameList) {
    EXPECT_EQ(
        manager_command(options_of({"u@h:tasks.sh"})).value(),
        (Words{"work_queue_run", "--shared-list", "u@h:tasks.sh", "--poll", "3.000", "--lease", "600.000"}));
    EXPECT_EQ(manager_command(options_of({"tasks.sh", "--serve", "--once", "--retries", "2", "--timeout",
                                          "1m", "--poll", "0.25", "--lease", "0"}))
                  .value(),
              (Words{"work_queue_run", "--shared-list", "tasks.sh", "--listen", "--manager-only", "--once",
                     "--retries", "2", "--timeout", "60.000", "--poll", "0.250", "--lease", "0.000"}));
}

TEST(RuntaskRanks, RefuseWhatIsForOneWorker) {
    const auto with_id = manager_command(options_of({"tasks.sh", "--serve", "--id", "3"}));
    ASSERT_FALSE(with_id);
    EXPECT_EQ(with_id.error().code, wq::ExitCode::usage);
    EXPECT_NE(with_id.error().message.find("--id is for one worker"), std::string::npos);
    EXPECT_FALSE(manager_command(options_of({"tasks.sh", "--serve", "--jobs", "3"})));
    const auto with_name = manager_command(options_of({"tasks.sh", "--serve", "--name", "me"}));
    ASSERT_FALSE(with_name);
    EXPECT_NE(with_name.error().message.find("--name is for one worker"), std::string::npos);
}

TEST(RuntaskRanks, IgnoreTheVariableForOneWorker) {
    const char* const words[] = {"runtask", "tasks.sh", "--serve"};
    const auto options = parse_options(
        3, words, [](const char* name) { return std::string(name) == "WORKER_NAME" ? "me" : ""; });
    EXPECT_TRUE(manager_command(options.value()));
}

}  // namespace
