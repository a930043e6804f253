#include "factory/settings.h"

#include <gmock/gmock.h>

namespace wq::factory {
namespace {

using ::testing::HasSubstr;

Result<double> value(std::string_view text) {
    return evaluate(text, [](const std::string& key) -> std::optional<double> {
        if (key == "cores") return 4;
        if (key == "max-workers") return 10;
        return std::nullopt;
    });
}

TEST(Expression, HasTheUsualPrecedence) {
    for (const auto& [text, expected] :
         std::initializer_list<std::pair<const char*, double>>{{"7", 7},
                                                               {" 1.5 ", 1.5},
                                                               {"cores*4000", 16000},
                                                               {"2 + 3 * cores", 14},
                                                               {"(2 + 3) * cores", 20},
                                                               {"10 - 4 - 3", 3},
                                                               {"24 / 4 / 2", 3},
                                                               {"-cores + 5", 1},
                                                               {"2 * -3", -6},
                                                               {"max-workers / 2", 5},
                                                               {"min(8, max-workers / 2) + 1", 6},
                                                               {"max(1, cores, 3)", 4},
                                                               {"1e3", 1000}}) {
        const auto found = value(text);
        ASSERT_TRUE(found) << text << ": " << found.error().message;
        EXPECT_DOUBLE_EQ(*found, expected) << text;
    }
}

TEST(Expression, SaysWhatIsWrong) {
    for (const auto& [text, why] : std::initializer_list<std::pair<std::string, const char*>>{
             {"", "a number is missing"},
             {"cores*", "a number is missing"},
             {"gpus*2", "there is no number 'gpus'"},
             {"(1", "a ')' is missing"},
             {"min(1", "a ')' is missing"},
             {"1 2", "what is '2'?"},
             {"cores/0", "no finite number"},
             {"4 GB", "what is 'GB'?"},
             {std::string(10'000, '('), "nested too deeply"},
             {std::string(2'000'000, '-'), "nested too deeply"}}) {
        const auto found = value(text);
        ASSERT_FALSE(found) << text;
        EXPECT_THAT(found.error().message, HasSubstr(why)) << text;
    }
}

}  // namespace
}  // namespace wq::factory
