#include "programs/slices/options.h"

#include <gmock/gmock.h>

#include "unit/records/journal/records_testing.h"

namespace wq::programs::slices {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Mode = Options::Mode;

Result<Options> parsed(std::vector<const char*> words) {
    words.insert(words.begin(), "work_queue_slices");
    return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(SlicesOptions, AreThoseOfTheQueue) {
    const auto options =
        parsed({"a",         "b",       "-e",       "3",   "--no-shuffle", "--seed",        "7",       "-n",
                "12",        "--lines", "--prefix", "/d/", "--delivery",   "at-least-once", "--stats", "s.h5",
                "--retries", "2",       "--",       "sh",  "-c",           "cat",           "--",      "{}"})
            .or_throw();
    EXPECT_EQ(options.mode, Mode::run);
    EXPECT_THAT(options.works, ElementsAre("a", "b"));
    EXPECT_THAT(options.command, ElementsAre("sh", "-c", "cat", "--", "{}"));
    EXPECT_EQ(options.slices.num_epochs, 3);
    EXPECT_FALSE(options.slices.shuffle);
    EXPECT_EQ(options.slices.seed, 7U);
    EXPECT_EQ(options.slices.num_slices, 12);
    EXPECT_TRUE(options.slices.lines && options.slices.commit_by_hand && options.slices.record_each);
    EXPECT_EQ(options.slices.prefix, "/d/");
    EXPECT_EQ(options.slices.delivery, Delivery::at_least_once);
    EXPECT_EQ(options.retries, 2);
    EXPECT_EQ(options.slices.tickets, SliceTickets::automatic);
    EXPECT_TRUE(options.slices.only_mpi_caller);
    EXPECT_EQ(parsed({"a", "--tickets", "rma", "--explain"}).or_throw().slices.tickets, SliceTickets::rma);
    EXPECT_EQ(parsed({"a", "--tickets", "message", "--explain"}).or_throw().slices.tickets,
              SliceTickets::message);
    EXPECT_EQ(parsed({"a", "--seed", "18446744073709551615", "--explain"}).or_throw().slices.seed,
              ~std::uint64_t{0});
    EXPECT_TRUE(parsed({"a", "--slices-per-work", "4", "--explain"}).or_throw().slices.num_slices_per_work);
}

TEST(SlicesOptions, AuditSeveralFiles) {
    const auto options = parsed({"a", "--audit", "s.h5.1", "--audit", "s.h5"}).or_throw();
    EXPECT_EQ(options.mode, Mode::audit);
    EXPECT_THAT(options.audits, ElementsAre("s.h5.1", "s.h5"));
}

TEST(SlicesOptions, ReadAListOfWorks) {
    const records::journal::testing::TempDir dir;
    const std::string list = dir.file("list");
    test::write_file(list, "# works\na b.txt\n\n  \t\r\n /c \r\nlast");
    EXPECT_THAT(parsed({"first", "--works", list.c_str(), "--explain"}).or_throw().works,
                ElementsAre("first", "a b.txt", " /c \r", "last"));
    EXPECT_EQ(parsed({"--works", dir.file("none").c_str(), "--explain"}).error().code, ExitCode::bad_input);
}

TEST(SlicesOptions, WhatIsWrongIsSaidInOneLine) {
    const auto why = [](std::vector<const char*> words) {
        const auto options = parsed(std::move(words));
        return options.ok() ? "" : options.error().message;
    };
    EXPECT_THAT(why({"--explain"}), HasSubstr("give works"));
    EXPECT_THAT(why({"a"}), HasSubstr("give a command after '--'"));
    EXPECT_THAT(why({"a", "--explain", "--", "true"}), HasSubstr("run no command"));
    EXPECT_THAT(why({"a", "--explain", "--audit", "s.h5"}), HasSubstr("not both"));
    EXPECT_THAT(why({"a", "--save-every", "inf", "--", "true"}), HasSubstr("--save-every: "));
    EXPECT_THAT(why({"a", "-n", "0", "--", "true"}), HasSubstr("--slices: "));
    EXPECT_THAT(why({"a", "-n", "1", "--slices-per-work", "1", "--", "true"}), HasSubstr("not both"));
    EXPECT_THAT(why({"a", "-e", "-1", "--", "true"}), HasSubstr("--epochs: "));
    EXPECT_THAT(why({"a", "--delivery", "twice", "--", "true"}), HasSubstr("not 'twice'"));
    EXPECT_THAT(why({"a", "--tickets", "mpi", "--", "true"}), HasSubstr("not 'mpi'"));
    EXPECT_THAT(why({"a", "--seed", "18446744073709551616", "--", "true"}), HasSubstr("--seed: "));
    EXPECT_THAT(why({"a", "--save-every", "soon", "--", "true"}), HasSubstr("--save-every: "));
    EXPECT_THAT(why({"a", "--epoch", "1", "--", "true"}), HasSubstr("did you mean --epochs"));
    EXPECT_EQ(parsed({"--help"}).or_throw().mode, Mode::help);
}

}  // namespace
}  // namespace wq::programs::slices
