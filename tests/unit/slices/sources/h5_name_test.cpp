#include "slices/sources/h5_name.h"

#include <gtest/gtest.h>

#include <random>

namespace wq::slices::sources {
namespace {

H5Name split(const std::string& name) {
    return split_h5_name(name).value_or(H5Name{"no name", ""});
}

TEST(H5Name, IsAFileAndADataset) {
    EXPECT_EQ(split("x.h5:/images"), (H5Name{"x.h5", "/images"}));
    EXPECT_EQ(split("/data/run 7/x.hdf5:/a/b"), (H5Name{"/data/run 7/x.hdf5", "/a/b"}));
    EXPECT_EQ(split("x.dat:/a"), (H5Name{"x.dat", "/a"}));
    EXPECT_EQ(split("x.h5:/"), (H5Name{"x.h5", "/"}));
    EXPECT_EQ(split("s3://bucket/x.h5:/a"), (H5Name{"s3://bucket/x.h5", "/a"}));
}

TEST(H5Name, MayHaveColonsInFoldersAndGroups) {
    EXPECT_EQ(split("/data:/x.h5:/a:/b"), (H5Name{"/data:/x.h5", "/a:/b"}));
    EXPECT_EQ(split("x.dat:/a:/b"), (H5Name{"x.dat", "/a:/b"}));
    EXPECT_EQ(split("x.h5:/a.h5:/b"), (H5Name{"x.h5", "/a.h5:/b"}));
}

TEST(H5Name, IsNotAnyName) {
    for (const char* name : {"", ":", ":/", ":/x", "/", "x.h5", "x.h5:", "x.h5:a", "x.h5/:/a",
                             "http://host/x.h5", "file:///x.h5", "x.h5://a", "a:b", "text.txt?start=1&end=2"})
        EXPECT_FALSE(split_h5_name(name)) << name;
}

// Whatever comes, the parts are the whole again; and what was put together comes apart.
TEST(H5Name, SplitsAndJoinsRandomNames) {
    std::mt19937_64 random(1);
    const auto word = [&](const std::string& letters, std::uint64_t most) {
        std::string text;
        for (std::uint64_t n = random() % most; n > 0; --n) text += letters[random() % letters.size()];
        return text;
    };
    const std::string letters("://.h5x\0\n\xff", 10);
    for (int round = 0; round < 200'000; ++round) {
        const std::string name = word(letters, 24);
        const auto parts = split_h5_name(name);
        if (!parts) continue;
        ASSERT_EQ(parts->text(), name);
        ASSERT_FALSE(parts->file.empty());
        ASSERT_NE(parts->file.back(), '/');
        ASSERT_EQ(parts->dataset[0], '/');
    }
    for (int round = 0; round < 20'000; ++round) {
        const H5Name parts{word("a/.", 10) + "x.h5", "/a" + word("b:/.h5", 10)};
        ASSERT_EQ(split_h5_name(parts.text()), parts) << parts.text();
    }
}

}  // namespace
}  // namespace wq::slices::sources
