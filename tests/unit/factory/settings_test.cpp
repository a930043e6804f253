#include "factory/settings.h"

#include <gmock/gmock.h>

namespace wq::factory {
namespace {

using ::testing::HasSubstr;

TEST(PoolSettings, OfTheManualsFile) {
    const auto read = read_settings(R"({
        "manager-name": "myproject", "max-workers": 4, "min-workers": 1,
        "cores": 4, "memory": 4096, "disk": 4096, "gpus": 1 })",
                                    {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->manager_name, "myproject");
    EXPECT_EQ(read->max_workers, 4);
    EXPECT_EQ(read->min_workers, 1);
    EXPECT_EQ(read->size, (engine::model::Resources{4, 4096, 4096, 1}));
    EXPECT_EQ(read->workers_per_cycle, 5);
}

TEST(PoolSettings, MayBeExpressionsOfEachOther) {
    const auto read = read_settings(
        R"({"cores": "max-workers / 4", "memory": "cores*4000", "max-workers": 10, "timeout": 1.5})", {});
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->size.cores, 3) << "rounded up";
    EXPECT_EQ(read->size.memory_mb, 10'000) << "of the value as it is written";
    EXPECT_EQ(read->timeout, std::chrono::seconds(2));
}

TEST(PoolSettings, KeepWhatTheFileLacks) {
    PoolSettings before;
    before.size.cores = 8;
    before.tasks_per_worker = 3;
    before.autosize = true;
    const auto read = read_settings(R"({"max-workers": 7, "tasks-per-worker": 0})", before);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->size.cores, 8);
    EXPECT_EQ(read->tasks_per_worker, std::nullopt) << "0 means by cores";
    EXPECT_TRUE(read->autosize);
}

TEST(PoolSettings, SayWhatIsWrong) {
    for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
             {"", "it is not valid JSON: line 1, at its end"},
             {"[]", "no JSON object"},
             {R"({"max-workers": 1e999})", "it is not valid JSON"},
             {"{\"cores\": 4,\n", "it is not valid JSON: line 1, at its end"},
             {R"({"max-workers": 7)", "it is not valid JSON: line 1, at its end"},
             {"{\n  \"cores\": 4\n  \"memory\": 8}\n", "it is not valid JSON: line 3, at '"},
             {R"({"max-worker": 7})", "max-worker: there is no such key (did you mean 'max-workers'?)"},
             {R"({"max-workers": "many"})", "max-workers: 'many': there is no number 'many'"},
             {R"({"max-workers": -1})", "max-workers: not a number from 0"},
             {R"({"max-workers": []})", "max-workers: not a number"},
             {R"({"min-workers": 11, "max-workers": 10})", "min-workers: 11 is above max-workers, 10"},
             {R"({"manager-name": 3})", "manager-name: not a text"},
             {R"({"autosize": "yes"})", "autosize: neither true nor false"},
             {R"({"cores": "memory", "memory": "cores"})", "there is no number"},
             {R"({"foremen-name": "f"})", "there are no foremen"}}) {
        const auto read = read_settings(text, {});
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().code, ExitCode::bad_input);
        EXPECT_THAT(read.error().message, HasSubstr(why)) << text;
    }
}

}  // namespace
}  // namespace wq::factory
