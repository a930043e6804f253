#include "functions/coprocess/message.h"

#include <gmock/gmock.h>

namespace wq::functions::coprocess {
namespace {

using engine::model::CallMode;
using engine::model::Ending;
using ::testing::HasSubstr;

TEST(RemoteCall, EventGetsTheModeUnlessItHasOne) {
    CallMode mode = CallMode::thread;
    EXPECT_EQ(*with_mode("{\"fn_args\":[1]}", mode),
              "{\"fn_args\":[1],\"remote_task_exec_method\":\"thread\"}");
    EXPECT_EQ(*with_mode("{\"remote_task_exec_method\": \"direct\"}", mode),
              "{\"remote_task_exec_method\": \"direct\"}");
    EXPECT_EQ(mode, CallMode::direct);
    mode = CallMode::fork;
    EXPECT_EQ(*with_mode("{}", mode), "{\"remote_task_exec_method\":\"fork\"}");
    EXPECT_EQ(*with_mode("{\"remote_task_exec_method\": null}", mode),
              "{\"remote_task_exec_method\": null,\"remote_task_exec_method\":\"fork\"}");
    for (const char* const bad : {"", "[1]", "{", "{\"remote_task_exec_method\": \"spawn\"}"})
        EXPECT_FALSE(with_mode(bad, mode)) << bad;
}

// Python writes and reads all of this.
TEST(RemoteCall, EventMayBeMoreThanStrictJson) {
    const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    for (const std::string& arguments :
         {std::string("[NaN, -Infinity]"), std::string(R"(["\ud800"])"), deep}) {
        CallMode mode = CallMode::direct;
        const auto event = with_mode("{\"fn_args\": " + arguments + "}", mode);
        ASSERT_TRUE(event);
        EXPECT_EQ(*event, "{\"fn_args\": " + arguments + ",\"remote_task_exec_method\":\"direct\"}");
    }
}

TEST(RemoteCall, GreetingNamesAPort) {
    const auto greeting = greeting_in("{\"name\": \"a\", \"port\": 4711}\n");
    ASSERT_TRUE(greeting);
    EXPECT_EQ(greeting->name, "a");
    EXPECT_EQ(greeting->port, 4711);
    EXPECT_FALSE(greeting->guarded);
    EXPECT_TRUE(greeting_in("{\"name\": \"a\", \"port\": 1, \"guarded\": true}")->guarded);
    for (const char* const bad : {"", "{}", "{\"name\": \"a\"}", "{\"name\": \"a b\", \"port\": 1}",
                                  "{\"name\": \"a\", \"port\": 0}", "{\"name\": \"a\", \"port\": 65536}",
                                  "{\"name\": 1, \"port\": 1}", "{\"name\": \"\", \"port\": 1}"})
        EXPECT_FALSE(greeting_in(bad)) << bad;
}

struct Answer {
    const char* words;
    const char* text;
    Ending ending;
    int code;
    const char* reason;
};

TEST(RemoteCall, AnswerSaysHowItEnded) {
    for (const auto& [words, text, ending, code, reason] :
         {Answer{"", "{\"Result\": 3, \"StatusCode\": 200}", Ending::exited, 0, ""},
          Answer{"", "{\"Result\": \"no\\nluck\", \"StatusCode\": 500}", Ending::raised, 1, "no luck"},
          Answer{"exit 3", "{\"Result\": \"\", \"StatusCode\": 500}", Ending::raised, 3, "exit 3 before"},
          Answer{"exit 0", "{\"Result\": \"\", \"StatusCode\": 500}", Ending::raised, 1, "exit 0 before"},
          Answer{"status 200", "{\"Result\": NaN, \"StatusCode\": 200}", Ending::exited, 0, ""},
          Answer{"status 500", "{\"Result\": \"no luck\", \"StatusCode\": 500}", Ending::raised, 1,
                 "no luck"},
          Answer{"status 500", "{\"Result\": \"\", \"StatusCode\": 200}", Ending::raised, 1, ""},
          Answer{"", "{\"Result\": [NaN, \"\\ud800\"], \"StatusCode\": 200}", Ending::exited, 0, ""},
          Answer{"", "{\"Result\": \"\\ud800\", \"StatusCode\": 500}", Ending::raised, 1, "\\ud800"},
          Answer{"", "{\"Result\": {\"a\": NaN}, \"StatusCode\": 500}", Ending::raised, 1, "{\"a\": NaN}"},
          Answer{"", "{\"Result\": 3}", Ending::raised, 1, "did not answer as it should"},
          Answer{"", "[]", Ending::raised, 1, "did not answer as it should"}}) {
        engine::model::Outcome outcome;
        std::string output;
        take_answer(words, text, outcome, output);
        EXPECT_EQ(outcome.ending, ending) << text;
        EXPECT_EQ(outcome.exit_code, code) << text;
        EXPECT_THAT(outcome.reason, HasSubstr(reason)) << text;
        EXPECT_THAT(output, HasSubstr("StatusCode")) << text;
        if (std::string_view(text).find("StatusCode") != std::string_view::npos) {
            EXPECT_EQ(output, text);
        }
    }
    engine::model::Outcome outcome;
    std::string output;
    take_answer("signal 11", failure_text("x"), outcome, output);
    EXPECT_EQ(outcome.ending, Ending::signalled);
    EXPECT_EQ(outcome.signal, 11);
}

TEST(RemoteCall, NamesOfFunctionsHaveNoBlank) {
    EXPECT_TRUE(is_function_name("my_sum"));
    EXPECT_TRUE(is_function_name("größe"));
    for (const char* const bad : {"", "a b", "a\n1 2", "a\t"}) EXPECT_FALSE(is_function_name(bad)) << bad;
}

}  // namespace
}  // namespace wq::functions::coprocess
