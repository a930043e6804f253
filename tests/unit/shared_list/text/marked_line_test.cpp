#include "shared_list/text/marked_line.h"

#include <gtest/gtest.h>

namespace {

using namespace wq::shared_list::text;

std::string kind_of(std::string_view text) {
    constexpr std::array<const char*, 6> names{"text", "environment", "open", "running", "done", "barrier"};
    return names[static_cast<std::size_t>(parse_line(text).kind)];
}

std::string tags_of(std::string_view text) {
    const MarkedLine line = parse_line(text);
    std::string tags = line.kind == LineKind::environment ? "!" : "";
    for (const WorkerId worker : line.workers)
        tags += "@" + (worker == no_worker ? "?" : std::to_string(worker));
    for (const auto& group : line.groups) tags += (group.sequential ? ":" : "+") + group.name + ";";
    return tags;
}

TEST(MarkedLine, KindsAreTold) {
    EXPECT_EQ(kind_of(""), "text");
    EXPECT_EQ(kind_of(" \t\r"), "text");
    EXPECT_EQ(kind_of("# a comment"), "text");
    EXPECT_EQ(kind_of("#!/bin/bash"), "text");
    EXPECT_EQ(kind_of("#LASTWORKER 1"), "text");
    EXPECT_EQ(kind_of("# worker 0: myspace 100.122.27.103  (07-28 15:52:28)"), "text");
    EXPECT_EQ(kind_of("#?line:3# echo a # worker 1 # (07-28 15:52:33 ... 07-28 15:52:36) #ok"), "text");
    EXPECT_EQ(kind_of("echo task1; sleep 3 "), "open");
    EXPECT_EQ(kind_of("cd x #!"), "environment");
    EXPECT_EQ(kind_of("exit #!#@1"), "environment");
    EXPECT_EQ(kind_of("#:"), "barrier");
    EXPECT_EQ(kind_of("#echo task2; sleep 3 # worker 0 # (07-28 15:52:33 ..."), "running");
    EXPECT_EQ(kind_of("#echo task1 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok"), "done");
    EXPECT_EQ(kind_of("echo task1 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error1"), "open");
    EXPECT_EQ(kind_of("echo task1 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #lost"), "open");
    EXPECT_EQ(kind_of("#echo a # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error1 # worker 2 # (07-28 "
                      "15:53:00 ..."),
              "running");
    // Given up: somebody made a failed line a comment.
    EXPECT_EQ(kind_of("#echo task1 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error1"), "text");
    // Texts that only look like marks.
    EXPECT_EQ(kind_of("#echo a # worker 0 # (yesterday ..."), "text");
    EXPECT_EQ(kind_of("#echo a # worker x # (07-28 15:52:29 ..."), "text");
}

TEST(MarkedLine, NotesBehindAMarkChangeNothing) {
    EXPECT_EQ(kind_of("#a # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok  looks good"), "done");
    EXPECT_EQ(kind_of("#a # worker 0 # (07-28 15:52:29 ...  slow one"), "running");
    EXPECT_EQ(kind_of("#a # worker 0 # (07-28 15:52:29 ...  slow one 07-28 15:52:33) #ok"), "done");
}

TEST(MarkedLine, TagsAreThoseOfTheComment) {
    EXPECT_EQ(tags_of("train #:mygroup1"), ":mygroup1;");
    EXPECT_EQ(tags_of("train #+mygroup1  #@2"), "@2+mygroup1;");
    EXPECT_EQ(tags_of("train #@1#@2"), "@1@2");
    EXPECT_EQ(tags_of("cd x #!#@1#@2"), "!@1@2");
    EXPECT_EQ(tags_of("train #:a group #@1"), "@1:a group;");
    EXPECT_EQ(tags_of("train #:"), ":;");
    EXPECT_EQ(tags_of("train #+"), "");
    EXPECT_EQ(tags_of("train #+a#:a"), ":a;");
    EXPECT_EQ(tags_of("train # note #:a"), ":a;");
    EXPECT_EQ(tags_of("echo '#:a' \"#@1\" a#:b $# ${#x}"), "");
    EXPECT_EQ(tags_of("train #@gpu"), "@?");
    EXPECT_EQ(tags_of("#train #:a # worker 0 # (07-28 15:52:29 ..."), ":a;");
    EXPECT_EQ(tags_of("train #:a # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error1"), ":a;");
}

TEST(MarkedLine, MarksAreThoseOfTheDocument) {
    const MarkedLine line = parse_line("echo task1; sleep 3 ");
    const std::string running = begun(line, 0, "07-28 15:52:29");
    EXPECT_EQ(running, "#echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ...");
    const std::string done = ended(parse_line(running), {"07-28 15:52:33", TryEnd::ok, 0, 0});
    EXPECT_EQ(done, "#echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #ok");
    EXPECT_EQ(unmarked(parse_line(done)), "echo task1; sleep 3");
    const std::string failed = ended(parse_line(running), {"07-28 15:52:33", TryEnd::error, 3, 0});
    EXPECT_EQ(failed, "echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error3");
    const std::string again = begun(parse_line(failed), 2, "07-28 15:53:00");
    EXPECT_EQ(again,
              "#echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error3 # worker 2 # "
              "(07-28 15:53:00 ...");
    EXPECT_EQ(ended(parse_line(again), {"07-28 15:53:09", TryEnd::ok, 0, -2}),
              "#echo task1; sleep 3 # worker 0 # (07-28 15:52:29 ... 07-28 15:52:33) #error3 # worker 2 # "
              "(07-28 15:53:00 ... line-2 07-28 15:53:09) #ok");
    EXPECT_EQ(parse_line(again).tries.size(), 2U);
    EXPECT_EQ(parse_line(again).command, "echo task1; sleep 3");
    EXPECT_EQ(orphaned(7, "echo a", 3, "07-28 15:53:00", {"07-28 15:53:09", TryEnd::ok, 0, 0}),
              "#?line:7# echo a # worker 3 # (07-28 15:53:00 ... 07-28 15:53:09) #ok");
    EXPECT_EQ(worker_line(1, "myspace 100.121.27.101 ", "07-28 15:52:34"),
              "# worker 1: myspace 100.121.27.101  (07-28 15:52:34)");
}

TEST(MarkedLine, TextsBySearchAreThoseBeforeTheFirstHash) {
    EXPECT_EQ(searched_text("  echo a  #:g"), "echo a");
    EXPECT_EQ(searched_text("#echo a #:g # worker 0 # (07-28 15:52:29 ..."), "echo a");
    EXPECT_EQ(searched_text(""), "");
}

TEST(MarkedLine, RunMarksAreTold) {
    EXPECT_EQ(last_worker("#LASTWORKER -1"), -1);
    EXPECT_EQ(last_worker("#LASTWORKER 12 "), 12);
    EXPECT_EQ(last_worker("#LASTWORKER x"), std::nullopt);
    EXPECT_EQ(last_worker("#LASTWORKER 99999999999999999999"), std::nullopt);
    const auto worker = worker_of("# worker 1: my (host) 1.2.3.4  (07-28 15:52:34)");
    ASSERT_TRUE(worker);
    EXPECT_EQ(worker->worker, 1U);
    EXPECT_EQ(worker->name, "my (host) 1.2.3.4");
    EXPECT_EQ(worker->stamp, "07-28 15:52:34");
    EXPECT_FALSE(is_run_mark("# workers are cheap"));
}

// In a second, where a search in all tags for each tag would take minutes.
TEST(MarkedLine, MayHaveManyTags) {
    constexpr std::size_t tags = 600'000;
    std::string text = "true";
    for (std::size_t at = 0; at < tags; ++at) text += " #+" + std::to_string(at);
    const MarkedLine line = parse_line(text + " #:0");
    ASSERT_EQ(line.groups.size(), tags);
    EXPECT_TRUE(line.groups.front().sequential);
    EXPECT_EQ(line.groups.back().name, std::to_string(tags - 1));
}

}  // namespace
