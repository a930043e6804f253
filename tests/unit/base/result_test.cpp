#include "base/result.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>

#include "base/ids.h"
#include "base/shortage.h"

namespace {

using wq::Error;
using wq::ExitCode;
using wq::Result;

TEST(Result, CarriesAValueOrAnError) {
    Result<std::unique_ptr<int>> value = std::make_unique<int>(3);
    ASSERT_TRUE(value);
    EXPECT_EQ(*std::move(value).or_throw(), 3);
    const Result<std::string> error = Error{ExitCode::bad_input, "list.sh:3: no such key"};
    ASSERT_FALSE(error.ok());
    EXPECT_EQ(error.error().message, "list.sh:3: no such key");
    // A Result of the kind of its error's text is not mistaken for the error.
    const Result<std::string> text = std::string("fine");
    EXPECT_EQ(text->size(), 4U);
}

TEST(Result, OrThrowThrowsTheError) {
    try {
        std::ignore = Result<int>(Error{ExitCode::usage, "wrong"}).or_throw();
        FAIL() << "no Failure was thrown";
    } catch (const wq::Failure& failure) {
        EXPECT_EQ(failure.error.code, ExitCode::usage);
        EXPECT_EQ(failure.error.message, "wrong");
    }
}

TEST(ResultDeathTest, TheValueOfAnErrorIsOurBug) {
    EXPECT_DEATH(Result<int>(Error{ExitCode::usage, "wrong"}).value(), "bug: value\\(\\) of an error: wrong");
}

TEST(Ids, AreDistinctTypesThatHashAndOrder) {
    static_assert(!std::is_convertible_v<wq::TaskId, wq::WorkerId>);
    static_assert(!std::is_convertible_v<std::uint64_t, wq::TaskId>);
    EXPECT_LT(wq::TaskId(3), wq::TaskId(4));
    EXPECT_EQ(std::hash<wq::TaskId>{}(wq::TaskId(7)), std::hash<std::uint64_t>{}(7));
}

TEST(Unexpected, ExceptionsAreShortagesOrBugs) {
    const auto told = [](const std::exception& error) { return wq::unexpected(error); };
    const std::error_code no_files(EMFILE, std::generic_category());
    const Error files = told(std::filesystem::filesystem_error("cannot open directory", "/proc", no_files));
    EXPECT_EQ(to_int(files.code), 71);
    EXPECT_NE(files.message.find("cannot open directory"), std::string::npos) << files.message;
    EXPECT_NE(files.message.find("ulimit -n"), std::string::npos) << files.message;
    const Error thread = told(std::system_error(EAGAIN, std::generic_category()));
    EXPECT_EQ(thread.message.find("no thread can be started"), 0U) << thread.message;
    EXPECT_EQ(to_int(told(std::bad_alloc()).code), 71);
    const std::error_code of_a_library(EMFILE, std::iostream_category());
    EXPECT_EQ(told(std::system_error(of_a_library)).code, ExitCode::internal);
    EXPECT_EQ(told(std::logic_error("x")).code, ExitCode::internal);
}

}  // namespace
