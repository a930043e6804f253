// What goes through a stream comes out the same, wherever it is cut, and nothing comes out elsewhere.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "files/trees/tree_reader.h"
#include "files/trees/tree_writer.h"
#include "support/folder.h"
#include "unit/files/trees/streams.h"

namespace wq::files::trees {
namespace {

using wq::test::Folder;
using wq::test::read_file;
using wq::test::write_file;
using Purpose = TreeWriter::Purpose;

std::string stream_from(const std::string& path, std::optional<Piece> piece = std::nullopt) {
    TreeReader reader(path, piece);
    std::string stream;
    while (!reader.done()) {
        if (const auto trouble = reader.read(stream, 1000)) {
            ADD_FAILURE() << trouble->what;
            break;
        }
    }
    return stream;
}

Problem problem_with(TreeReader reader) {
    std::string stream;
    while (!reader.done()) {
        if (auto trouble = reader.read(stream, 1000)) return *trouble;
    }
    return {Problem::Kind::refused, "no problem"};
}

Trouble write_all(TreeWriter& writer, const std::string& stream, std::mt19937* random = nullptr) {
    for (std::size_t at = 0; at < stream.size();) {
        const std::size_t cut = random == nullptr ? stream.size() : 1 + (*random)() % 700;
        if (auto trouble = writer.write(std::string_view(stream).substr(at, cut))) return trouble;
        at += cut;
    }
    return writer.finish();
}

std::string tree(const std::vector<Entry>& entries) {
    std::string stream;
    for (const Entry& entry : entries) stream += encode(entry);
    return stream;
}
Entry folder(const std::string& name) {
    return {EntryKind::folder, name, 0555, 0, ""};
}
Entry file(const std::string& name, std::uint64_t size = 0) {
    return {EntryKind::file, name, 0444, size, ""};
}
Entry link(const std::string& name, const std::string& target) {
    return {EntryKind::link, name, 0, 0, target};
}
const Entry leave{EntryKind::leave, "", 0, 0, ""};
const Entry end{EntryKind::end, "", 0, 0, ""};

// A tree of a few folders, with every kind of content, name and permission.
class Grower {
  public:
    explicit Grower(unsigned seed) : random_(seed) {}

    void grow(const std::string& path, int depth) {
        std::filesystem::create_directory(path);
        const int children = 1 + below(6);
        for (int i = 0; i < children; ++i) {
            const std::string child = path + "/" + name() + std::to_string(i);
            switch (below(4)) {
                case 0:
                    if (depth < 4) {
                        grow(child, depth + 1);
                        break;
                    }
                    [[fallthrough]];
                case 1:
                    std::filesystem::create_symlink(depth > 0 ? "../x" : "x", child);
                    break;
                default:
                    write_file(child, std::string(static_cast<std::size_t>(below(3) * below(2000)), 'x'));
                    ::chmod(child.c_str(), below(2) == 0 ? 0755 : 0444);
            }
        }
        ::chmod(path.c_str(), below(2) == 0 ? 0755 : 0700);
    }

  private:
    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
    std::string name() {
        std::string name;
        for (int i = 1 + below(20); i > 0; --i) {
            char c = static_cast<char>(random_());
            while (c == '/' || c == '\0') c = static_cast<char>(random_());
            name += c;
        }
        return name;
    }
    std::mt19937 random_;
};

TEST(Tree, ComesOutAsItWentInHoweverItIsCut) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        Folder place;
        Grower(seed).grow(place / "tree", 0);
        const std::string stream = stream_from(place / "tree");
        std::mt19937 random(seed);
        TreeWriter writer(place / "made/if missing/copy", seed % 2 == 0 ? Purpose::kept : Purpose::shared);
        const auto trouble = write_all(writer, stream, &random);
        ASSERT_FALSE(trouble) << trouble->what;
        EXPECT_EQ(stream_from(place / "made/if missing/copy"), stream) << "seed " << seed;
    }
}

TEST(Tree, HasTheSameStreamUnderAnyNameAndTime) {
    Folder place;
    write_file(place / "one", "some text");
    write_file(place / "another", "some text");
    ::utimensat(AT_FDCWD, (place / "another").c_str(), nullptr, 0);
    EXPECT_EQ(stream_from(place / "one"), stream_from(place / "another"));
    EXPECT_EQ(stream_from(place / "one"), stream_of("some text"));
    ::chmod((place / "another").c_str(), 0755);
    EXPECT_NE(stream_from(place / "one"), stream_from(place / "another"));
}

TEST(Tree, OfAPieceHasItsBytesOnly) {
    Folder place;
    write_file(place / "file", "0123456789");
    EXPECT_EQ(stream_from(place / "file", Piece{2, 4}), stream_of("234"));
    EXPECT_EQ(stream_from(place / "file", Piece{9, 1000}), stream_of("9"));
    EXPECT_EQ(problem_with(TreeReader(place / "file", Piece{10, 12})).kind, Problem::Kind::missing);
    EXPECT_EQ(problem_with(TreeReader(place / "file", Piece{4, 3})).kind, Problem::Kind::missing);
}

TEST(TreeReader, SaysWhatIsWrongWithAPath) {
    Folder place;
    const Problem missing = problem_with(TreeReader(place / "nothing"));
    EXPECT_EQ(missing.kind, Problem::Kind::missing);
    EXPECT_EQ(missing.what, place / "nothing" + ": No such file or directory");

    std::filesystem::create_directory(place / "tree");
    ASSERT_EQ(::mkfifo((place / "tree/pipe").c_str(), 0600), 0);
    EXPECT_EQ(problem_with(TreeReader(place / "tree")).what,
              place / "tree/pipe" + ": not a file, folder or link");
    std::filesystem::remove(place / "tree/pipe");

    std::filesystem::create_directory_symlink("/", place / "tree/root");
    EXPECT_EQ(problem_with(TreeReader(place / "tree")).what,
              place / "tree/root" + ": a link to a folder outside " + place / "tree");
}

TEST(TreeReader, FollowsALinkOutToAFile) {
    Folder place;
    write_file(place / "outside", "text");
    std::filesystem::create_directory(place / "tree");
    std::filesystem::create_symlink("../outside", place / "tree/inside");
    EXPECT_EQ(stream_from(place / "tree"),
              tree({folder(""), file("inside", 4)}) + "text" + tree({leave, end}));
    std::filesystem::create_symlink("outside", place / "top");
    EXPECT_EQ(stream_from(place / "top"), stream_of("text"));
}

TEST(TreeReader, NoticesWhoWritesMeanwhile) {
    Folder place;
    for (const char* const now : {"", "less", "as many bytes, others", "a few bytes more than before"}) {
        write_file(place / "file", "as many bytes, before");
        TreeReader reader(place / "file");
        std::string stream;
        ASSERT_FALSE(reader.read(stream, 10));
        struct timespec times[2] = {{1, 0}, {1, 0}};  // a write within one tick of the clock changes no time
        write_file(place / "file", now);
        ::utimensat(AT_FDCWD, (place / "file").c_str(), times, 0);
        EXPECT_EQ(problem_with(std::move(reader)).kind, Problem::Kind::changed) << now;
    }
}

TEST(TreeWriter, RefusesWhatLeadsOut) {
    const std::vector<std::vector<Entry>> bad{
        {folder(""), folder("..")},
        {folder(""), file("a/b")},
        {folder(""), file("")},
        {folder(""), file(std::string("a\0b", 3))},
        {file("named")},
        {link("", "x")},
        {folder(""), link("l", "/etc/passwd")},
        {folder(""), link("l", "../x")},
        {folder(""), link("l", "x/../..")},
        {folder(""), folder("d"), link("l", "../../x")},
        {folder(""), folder("d"), link("l", "up/../x")},
        {folder(""), link("l", "")},
        {folder(""), link("twice", "x"), file("twice")},
        {folder(""), link("twice", "."), folder("twice")},
        {folder(""), leave, leave},
        {leave},
        {end},
        {folder(""), end},
        {folder(""), leave, folder("")},
        {folder(""), leave, end, end},
        std::vector<Entry>(most_depth + 2, folder("d")),
    };
    for (std::size_t i = 0; i < bad.size(); ++i) {
        Folder place;
        std::vector<Entry> entries = bad[i];
        if (entries.size() > most_depth) entries.front().name.clear();
        {
            TreeWriter writer(place / "in/target", Purpose::shared);
            EXPECT_TRUE(write_all(writer, tree(entries))) << i;
        }
        EXPECT_FALSE(std::filesystem::exists(place / "in/target")) << i;
        EXPECT_TRUE(!std::filesystem::exists(place / "in") || std::filesystem::is_empty(place / "in")) << i;
    }
}

TEST(TreeWriter, MakesLinksThatStay) {
    Folder place;
    TreeWriter writer(place / "t", Purpose::shared);
    const std::string stream = tree(
        {folder(""), link("a", "x"), folder("d"), link("b", "../a"), link("c", "./e//f"), leave, leave, end});
    EXPECT_FALSE(write_all(writer, stream));
    EXPECT_EQ(stream_from(place / "t"), stream);
}

TEST(TreeWriter, PutsTheWholeInPlaceOfWhatWasThere) {
    Folder place;
    const auto put = [&](const std::string& stream) {
        TreeWriter writer(place / "target", Purpose::kept);
        const auto trouble = write_all(writer, stream);
        EXPECT_FALSE(trouble) << trouble->what;
        EXPECT_EQ(stream_from(place / "target"), stream);
    };
    const std::string one = tree({folder(""), file("a"), leave, end});
    const std::string other = tree({folder(""), folder("b"), leave, leave, end});
    for (const std::string& stream : {stream_of("1"), stream_of("2")}) put(stream);
    std::filesystem::remove(place / "target");
    for (const std::string& stream : {one, other}) put(stream);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 1);
}

TEST(TreeWriter, LosesNothingThatIsNoOutputOfBefore) {
    Folder place;
    std::filesystem::create_directory(place / "folder");
    write_file(place / "folder/precious", "gold");
    write_file(place / "file", "gold");
    ASSERT_EQ(::mkfifo((place / "fifo").c_str(), 0600), 0);
    const std::string tree_stream = tree({folder(""), file("a"), leave, end});
    const auto put = [&](const std::string& name, const std::string& stream) {
        TreeWriter writer(place / name, Purpose::kept);
        const auto trouble = write_all(writer, stream);
        return trouble ? trouble->what : "";
    };
    EXPECT_THAT(put("folder", stream_of("1")), ::testing::HasSubstr("name a file in it"));
    EXPECT_THAT(put("file", tree_stream), ::testing::HasSubstr("the output is a folder"));
    EXPECT_THAT(put("fifo", stream_of("1")), ::testing::HasSubstr("cannot replace"));
    EXPECT_EQ(read_file(place / "folder/precious"), "gold");
    EXPECT_EQ(read_file(place / "file"), "gold");
    EXPECT_TRUE(std::filesystem::is_fifo(place / "fifo"));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 3);
}

// Of writers of one target, with what killed ones have left there: what is in place is always one of them,
// whole.
TEST(TreeWriter, WritersOfOneTargetDisturbNoOther) {
    constexpr int writers = 4, rounds = 150;
    constexpr std::size_t size = 5000;
    Folder place;
    std::atomic<int> torn{0};
    const auto write_rounds = [&](char letter) {
        std::mt19937 random(static_cast<unsigned char>(letter));
        for (int round = 0; round < rounds; ++round) {
            // What a killed one leaves; where there is one that lives, nothing.
            ::close(::open((place / ".target.wq-part").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
            TreeWriter writer(place / "target", Purpose::kept);
            EXPECT_FALSE(write_all(writer, stream_of(std::string(size, letter)), &random));
            const std::string found = read_file(place / "target");
            if (found != std::string(size, found.empty() ? '?' : found.front())) ++torn;
        }
    };
    std::vector<std::thread> threads;
    for (int id = 0; id < writers; ++id) threads.emplace_back(write_rounds, static_cast<char>('a' + id));
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(torn, 0);
    TreeWriter last(place / "target", Purpose::kept);
    EXPECT_FALSE(write_all(last, stream_of("last")));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 1);
}

TEST(TreeWriter, LeavesNothingOfAnUnfinishedOne) {
    Folder place;
    write_file(place / "target", "before");
    const std::string stream =
        tree({folder(""), {EntryKind::folder, "closed", 0500, 0, ""}, file("in it"), leave, file("f", 9)}) +
        "half of";
    {
        TreeWriter writer(place / "target", Purpose::kept);
        EXPECT_FALSE(writer.write(stream));
        EXPECT_FALSE(writer.complete());
        EXPECT_EQ(writer.bytes_of_files(), 7u);
    }
    EXPECT_EQ(read_file(place / "target"), "before");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 1);
}

TEST(TreeWriter, RemovesWhatAKilledOneHasLeft) {
    Folder place;
    const std::string stream = tree({folder(""), file("f", 4)}) + "half";
    for (const std::string& half : {stream, stream_of("half of it").substr(0, 30)}) {
        // Its descriptors, and so its lock, go with it; its destructor does not run.
        const pid_t killed = ::fork();
        if (killed == 0) {
            TreeWriter writer(place / "target", Purpose::kept);
            ::_exit(writer.write(half) ? 1 : 0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(killed, &status, 0), killed);
        ASSERT_EQ(status, 0);
        EXPECT_TRUE(std::filesystem::exists(place / ".target.wq-part"));
        TreeWriter writer(place / "target", Purpose::kept);
        EXPECT_FALSE(write_all(writer, stream_of("whole")));
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 1);
    }
}

TEST(TreeWriter, TakesNothingFromOneThatWritesTheSame) {
    for (const bool folders : {false, true}) {
        Folder place;
        const auto content = [&](const std::string& name) {
            return folders ? tree({folder(""), file(name), leave, end}) : stream_of(name);
        };
        TreeWriter one(place / "target", Purpose::kept), other(place / "target", Purpose::kept);
        const std::string first = content("first"), second = content("second");
        EXPECT_FALSE(one.write(first.substr(0, first.size() - 7)));
        EXPECT_FALSE(write_all(other, second));
        EXPECT_EQ(stream_from(place / "target"), second);
        EXPECT_FALSE(one.write(first.substr(first.size() - 7)));
        EXPECT_FALSE(one.finish());
        EXPECT_EQ(stream_from(place / "target"), first);
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path()), {}), 1);
    }
}

// A limit on the size of files stands for the full disk: the same error reaches the same place.
TEST(TreeWriter, SaysThatTheDiskIsFull) {
    Folder place;
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 1000;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    TreeWriter writer(place / "target", Purpose::shared);
    const auto trouble = write_all(writer, stream_of(std::string(2000, 'x')));
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    ASSERT_TRUE(trouble);
    EXPECT_EQ(trouble->kind, Problem::Kind::full);
}

TEST(TreeFormat, DecodesWhatItEncodesAndNothingThatIsTooLong) {
    const Entry entry{EntryKind::file, "name", 0555, 1u << 20, ""};
    const std::string bytes = encode(entry);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
        const auto part = decode(std::string_view(bytes).substr(0, cut));
        ASSERT_TRUE(part);
        EXPECT_EQ(part->used, 0u);
    }
    const auto whole = decode(bytes + "more");
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->used, bytes.size());
    EXPECT_EQ(whole->entry, entry);
    EXPECT_FALSE(decode(encode(link("l", std::string(most_entry_bytes, 'x')))));
    EXPECT_FALSE(decode(std::string(5, '\0')));
    EXPECT_FALSE(decode(encode({EntryKind::file, "setuid", 04555, 0, ""})));
}

}  // namespace
}  // namespace wq::files::trees
