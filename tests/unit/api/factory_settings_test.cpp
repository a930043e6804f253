#include "api/factory_settings.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "factory/settings.h"

namespace wq::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr bool running = true;

std::string refusal(const char* name, const char* value, bool is_running = !running) {
    FactoryOptions options;
    const Status status = specify(options, is_running, name, value);
    return status ? "" : status.error().message;
}

TEST(FactorySettings, HaveTheNamesOfTheProgramsFile) {
    // The managers are those of the program, and a name counts only at the start.
    const std::vector<std::string_view> others{"manager-name", "master-name", "factory-name", "catalog"};
    FactoryOptions options;
    int found = 0;
    for (const std::string_view name : factory::setting_names()) {
        if (std::find(others.begin(), others.end(), name) != others.end()) continue;
        EXPECT_TRUE(specify(options, running, std::string(name), "1")) << name;
        ++found;
    }
    EXPECT_EQ(found, 14);
    const auto read = factory::read_settings(json_of(options.settings), {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->min_workers, 1);
    EXPECT_EQ(read->max_workers, 1);
    EXPECT_EQ(read->workers_per_cycle, 1);
    EXPECT_EQ(read->tasks_per_worker, 1);
    EXPECT_TRUE(read->capacity);
    EXPECT_EQ(read->timeout, std::chrono::seconds(1));
    EXPECT_EQ(read->factory_timeout, std::chrono::seconds(1));
    EXPECT_TRUE(read->autosize);
    EXPECT_EQ(read->size, (engine::model::Resources{1, 1, 1, 1}));
    EXPECT_EQ(read->worker_extra_options, "1");
    EXPECT_EQ(read->condor_requirements, "1");
}

TEST(FactorySettings, AreWrittenAsOnTheCommandLine) {
    FactoryOptions options;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"memory", "4G"}, {"disk", "500"}, {"timeout", "15m"}, {"capacity", "true"}, {"autosize", "0"}})
        EXPECT_TRUE(specify(options, running, name, value)) << name;
    EXPECT_EQ(options.settings.memory, 4096);
    EXPECT_EQ(options.settings.disk, 500);
    EXPECT_EQ(options.settings.timeout, 900);
    EXPECT_TRUE(options.settings.capacity);
    EXPECT_FALSE(options.settings.autosize);
}

TEST(FactorySettings, MayHaveAMinimumAboveTheMaximumMeanwhile) {
    FactoryOptions options;
    ASSERT_TRUE(specify(options, running, "max-workers", "2"));
    const auto read = factory::read_settings(json_of(options.settings), {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->min_workers, 2);
}

TEST(FactorySettings, OfItsStart) {
    FactoryOptions options;
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, const char*>>{{"scratch-dir", "jobs"},
                                                                    {"factory-name", "f"},
                                                                    {"batch-options", "-p long"},
                                                                    {"batch-options", "-p short"},
                                                                    {"env", "A=1"},
                                                                    {"env", "B=2"},
                                                                    {"feature", "big"},
                                                                    {"feature", ""},
                                                                    {"cycle", "10"},
                                                                    {"cycle", ""}})
        ASSERT_TRUE(specify(options, !running, name, value)) << name;
    EXPECT_EQ(options.scratch_dir, std::filesystem::absolute("jobs").string());
    EXPECT_EQ(options.factory_name, "f");
    EXPECT_THAT(options.options, ElementsAre("--batch-options=-p short", "--env=A=1", "--env=B=2"));
    ASSERT_TRUE(specify(options, !running, "scratch-dir", ""));
    EXPECT_THAT(options.scratch_dir, IsEmpty());
}

TEST(FactorySettings, SayWhatIsWrong) {
    EXPECT_EQ(refusal("max-worker", "7"), "there is no setting 'max-worker' (did you mean 'max-workers'?)");
    EXPECT_EQ(refusal("scratch-dirs", "7"),
              "there is no setting 'scratch-dirs' (did you mean 'scratch-dir'?)");
    EXPECT_EQ(refusal("project", "x"), "there is no setting 'project'");
    EXPECT_EQ(refusal("", "x"), "there is no setting ''");
    EXPECT_EQ(refusal("max-workers", "many"), "max-workers: 'many' is not a whole number from 0 to 1000000");
    EXPECT_EQ(refusal("cores", "-1"), "cores: '-1' is not a whole number from 0 to 100000");
    EXPECT_EQ(refusal("capacity", "yes"), "capacity: 'yes' is neither true nor false");
    EXPECT_THAT(refusal("memory", "4 apples"), HasSubstr("memory: '4 apples'"));
    EXPECT_THAT(refusal("timeout", ""), HasSubstr("timeout: ''"));
    EXPECT_THAT(refusal("wall-time", "soon"), HasSubstr("wall-time: 'soon'"));
    EXPECT_THAT(refusal("scratch-dir", "x", running), HasSubstr("scratch-dir: too late"));
}

}  // namespace
}  // namespace wq::api
