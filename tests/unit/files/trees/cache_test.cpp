// What the cache hands out is what came in, under that key, and what tasks do to it changes nothing for
// others.
#include "files/trees/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "files/trees/tree_reader.h"
#include "support/folder.h"
#include "unit/files/trees/streams.h"

namespace wq::files::trees {
namespace {

namespace fs = std::filesystem;
using wq::test::Folder;
using wq::test::read_file;

std::string key_of(const std::string& stream) {
    KeyMaker maker;
    maker.add(stream);
    return maker.key();
}

Trouble put(Cache& cache, const std::string& stream, const std::string& key) {
    Cache::Incoming incoming(cache, key);
    if (auto trouble = incoming.write(stream)) return trouble;
    return incoming.finish();
}

std::size_t entries(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

struct CacheTest : testing::Test {
    Folder place;
    Cache cache{place / "cache"};
    std::string stream = stream_of("some text");
    std::string key = key_of(stream);
    void SetUp() override { ASSERT_FALSE(cache.open()); }
};

// The key of FIPS 180-4's example "abc" is of these three bytes.
TEST(ContentKey, IsTheSha256OfTheStream) {
    EXPECT_EQ(key_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(CacheTest, HandsOutWhatCameIn) {
    EXPECT_FALSE(cache.has(key));
    ASSERT_FALSE(put(cache, stream, key));
    EXPECT_TRUE(cache.has(key));
    EXPECT_EQ(cache.bytes(), stream.size());
    for (const Sharing sharing : {Sharing::copied, Sharing::linked}) {
        const std::string to = place / (sharing == Sharing::linked ? "linked" : "copied");
        ASSERT_FALSE(cache.place(key, to, sharing));
        EXPECT_EQ(read_file(to), "some text");
        struct stat status {};
        ASSERT_EQ(::stat(to.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777u, sharing == Sharing::linked ? 0444u : 0644u);
        EXPECT_EQ(status.st_nlink, sharing == Sharing::linked ? 2u : 1u);
    }
    EXPECT_FALSE(put(cache, stream, key)) << "twice";
    EXPECT_EQ(cache.bytes(), stream.size());
    cache.drop(key);
    EXPECT_FALSE(cache.has(key));
    EXPECT_EQ(cache.bytes(), 0u);
    EXPECT_EQ(entries(place / "cache"), 0u);
}

TEST_F(CacheTest, HandsOutFoldersWithAllThatIsInThem) {
    std::filesystem::create_directories(place / "tree/a/b");
    std::ofstream(place / "tree/a/b/file") << "text";
    std::filesystem::create_symlink("a/b/file", place / "tree/link");
    std::string bytes;
    TreeReader reader(place / "tree");
    while (!reader.done()) ASSERT_FALSE(reader.read(bytes, 100));
    ASSERT_FALSE(put(cache, bytes, key_of(bytes)));
    for (const Sharing sharing : {Sharing::copied, Sharing::linked}) {
        const std::string to = place / (sharing == Sharing::linked ? "linked" : "copied");
        ASSERT_FALSE(cache.place(key_of(bytes), to, sharing));
        std::string placed;
        TreeReader of_copy(to);
        while (!of_copy.done()) ASSERT_FALSE(of_copy.read(placed, 1000));
        EXPECT_EQ(placed, bytes);
    }
}

TEST_F(CacheTest, RefusesWhatIsNotWhatWasAnnounced) {
    const auto trouble = put(cache, stream_of("other text"), key);
    ASSERT_TRUE(trouble);
    EXPECT_EQ(trouble->kind, Problem::Kind::refused);
    EXPECT_FALSE(cache.has(key));
    EXPECT_EQ(entries(place / "cache"), 0u);
}

TEST_F(CacheTest, IsNotSpoiledByATaskThatWritesInPlace) {
    ASSERT_FALSE(put(cache, stream, key));
    ASSERT_FALSE(cache.place(key, place / "copy", Sharing::copied));
    std::ofstream(place / "copy", std::ios::app) << " and more";
    EXPECT_TRUE(cache.fresh(key));

    ASSERT_FALSE(cache.place(key, place / "link", Sharing::linked));
    EXPECT_TRUE(cache.fresh(key));
    ::chmod((place / "link").c_str(), 0644);
    std::ofstream(place / "link", std::ios::app) << " and more";
    EXPECT_FALSE(cache.fresh(key));
    EXPECT_FALSE(cache.has(key));
    ASSERT_FALSE(put(cache, stream, key));
    ASSERT_FALSE(cache.place(key, place / "again", Sharing::linked));
    EXPECT_EQ(read_file(place / "again"), "some text");
}

// Large copies go from task to task while nobody has changed anything in them.
struct CopiesOfTasks : CacheTest {
    const std::string text = std::string(2 << 20, 'x');
    const std::string large = stream_of(text);
    const std::string its_key = key_of(large);
    const std::string at = place / "in";

    void SetUp() override {
        CacheTest::SetUp();
        ASSERT_FALSE(put(cache, large, its_key));
        ASSERT_FALSE(cache.place(its_key, at, Sharing::copied));
    }
};

TEST_F(CopiesOfTasks, AreTheNextOnesIfNobodyHasChangedThem) {
    cache.take_back(at);
    EXPECT_FALSE(fs::exists(at));
    ASSERT_FALSE(cache.place(its_key, at, Sharing::copied));
    EXPECT_EQ(read_file(at), text);
    EXPECT_EQ(entries(place / "cache"), 1u) << "it is the task's again";
}

TEST_F(CopiesOfTasks, AreLeftWhereATaskHasChangedThem) {
    const std::vector<std::function<void()>> changes = {
        [&] { std::fstream(at, std::ios::in | std::ios::out) << "y"; },
        [&] { fs::resize_file(at, 1); },
        [&] { fs::permissions(at, fs::perms::owner_all); },
        [&] { fs::remove(at), std::ofstream(at) << text; },
        [&] { fs::create_hard_link(at, place / "held"); },
    };
    for (const auto& change : changes) {
        change();
        cache.take_back(at);
        EXPECT_TRUE(fs::exists(at));
        fs::remove(at);
        ASSERT_FALSE(cache.place(its_key, at, Sharing::copied));
        EXPECT_EQ(read_file(at), text);
    }
}

TEST_F(CopiesOfTasks, ThatAreWrittenToWhileTheyWaitAreGivenToNobody) {
    const int held = ::open(at.c_str(), O_WRONLY | O_CLOEXEC);
    cache.take_back(at);
    ASSERT_EQ(::write(held, "y", 1), 1);
    ::close(held);
    ASSERT_FALSE(cache.place(its_key, at, Sharing::copied));
    EXPECT_EQ(read_file(at), text);
}

TEST_F(CopiesOfTasks, GoFirstWhereTheDiskIsFullAndWithTheirTree) {
    cache.take_back(at);
    EXPECT_EQ(entries(place / "cache"), 2u);
    EXPECT_TRUE(cache.make_room());
    EXPECT_EQ(entries(place / "cache"), 1u);
    EXPECT_TRUE(cache.has(its_key));
    ASSERT_FALSE(cache.place(its_key, at, Sharing::copied));
    cache.take_back(at);
    cache.drop(its_key);
    EXPECT_EQ(entries(place / "cache"), 0u);
}

TEST_F(CacheTest, OfAnEarlierWorkerIsReadAPartAtATime) {
    const std::string large = stream_of(std::string(20 << 20, 'x'));
    const std::string other = key_of(large);
    ASSERT_FALSE(put(cache, large, other));
    ASSERT_FALSE(put(cache, stream, key));
    Cache next(place / "cache");
    ASSERT_FALSE(next.open());
    EXPECT_TRUE(next.check_some(other));
    EXPECT_FALSE(next.check_some(key)) << "that of another one is between";
    int times = 1;
    while (next.check_some(other)) ++times;
    EXPECT_GE(times, 4);
    EXPECT_TRUE(next.has(other));
    EXPECT_TRUE(next.fresh(other));
    EXPECT_EQ(next.bytes(), large.size() + stream.size());
    EXPECT_FALSE(next.check_some(key_of("none")));
}

TEST_F(CacheTest, OfAnEarlierWorkerIsTakenUpWhereItIsSound) {
    ASSERT_FALSE(put(cache, stream, key));
    const std::string other = stream_of("other text");
    ASSERT_FALSE(put(cache, other, key_of(other)));
    ::chmod((place / "cache/" + key_of(other)).c_str(), 0644);
    std::ofstream(place / "cache/" + key_of(other), std::ios::app) << " spoiled";
    std::ofstream(place / "cache/.half.part-1") << "left by a SIGKILL";

    Cache next(place / "cache");
    ASSERT_FALSE(next.open());
    EXPECT_TRUE(next.has(key));
    EXPECT_FALSE(next.has(key_of(other)));
    EXPECT_EQ(next.bytes(), stream.size());
    EXPECT_EQ(entries(place / "cache"), 1u);
}

}  // namespace
}  // namespace wq::files::trees
