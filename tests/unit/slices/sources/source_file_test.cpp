#include "slices/sources/source_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "support/folder.h"

namespace wq::slices::sources {
namespace {

using test::Folder;
using test::write_file;

std::string error_of(const Result<SourceFile>& file) {
    return file ? "" : file.error().message;
}

std::string error_of(const Status& status) {
    return status ? "" : status.error().message;
}

TEST(SourceFile, ReadsItsBytes) {
    const Folder folder;
    write_file(folder / "data", "0123456789");
    const auto file = SourceFile::open(folder / "data");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->bytes(), 10u);
    std::array<char, 4> some{};
    ASSERT_TRUE(file->read(6, some));
    EXPECT_EQ(std::string(some.data(), 4), "6789");
    EXPECT_EQ(error_of(file->read(7, some)),
              "cannot read " + folder / "data" + ": it was truncated meanwhile; it had 10 bytes");
}

TEST(SourceFile, SaysWhyItCannotBeRead) {
    const Folder folder;
    const auto why = [&](const std::string& name) { return error_of(SourceFile::open(folder / name)); };
    const auto line = [&](const std::string& name, const std::string& what) {
        return "cannot read " + folder / name + ": " + what;
    };
    EXPECT_EQ(why("none"), line("none", "No such file or directory"));
    EXPECT_EQ(why("."), line(".", "it is a folder"));
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(why("pipe"), line("pipe", "it is not a regular file"));
    EXPECT_EQ(error_of(SourceFile::open(std::string("a\0b", 3))),
              "cannot read a\\x00b: its name has a NUL byte");
    EXPECT_EQ(error_of(SourceFile::open("a\nb")).find('\n'), std::string::npos);
    EXPECT_EQ(SourceFile::open(folder / "none").error().code, ExitCode::bad_input);
}

TEST(SourceFile, NoticesThatItIsAnotherOne) {
    const Folder folder;
    write_file(folder / "data", "0123456789");
    const SourceStamp planned = SourceFile::open(folder / "data")->stamp(5);
    EXPECT_EQ(planned.records, 5u);
    EXPECT_TRUE(SourceFile::open(folder / "data", planned));
    const auto time = std::filesystem::last_write_time(folder / "data");
    std::filesystem::last_write_time(folder / "data", time + std::chrono::seconds(1));
    EXPECT_EQ(error_of(SourceFile::open(folder / "data", planned)),
              folder / "data" + " changed since the plan: it was written to, though its size is the same");
    write_file(folder / "data", "01234567890");
    EXPECT_EQ(error_of(SourceFile::open(folder / "data", planned)),
              folder / "data" + " changed since the plan: it has 11 bytes, 10 then");
}

TEST(SourceStamp, OfAGrowingFileAllowsMoreRecords) {
    const SourceStamp planned{100, 1, 10, true};
    EXPECT_TRUE(check_unchanged("x.h5", planned, {200, 2, 10, true}));
    EXPECT_TRUE(check_unchanged("x.h5", planned, {200, 2, 11, false}));
    EXPECT_EQ(error_of(check_unchanged("x.h5", planned, {200, 2, 9, true})),
              "x.h5 changed since the plan: it has 9 records, 10 then");
    const SourceStamp still{100, 1, 10, false};
    EXPECT_EQ(error_of(check_unchanged("x.h5", still, {100, 1, 11, false})),
              "x.h5 changed since the plan: it has 11 records, 10 then");
    EXPECT_TRUE(check_unchanged("x.h5", still, still));
}

}  // namespace
}  // namespace wq::slices::sources
