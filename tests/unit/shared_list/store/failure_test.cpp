// What fails is told as it is, by each way to a list.
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "shared_list/store/list_place.h"
#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

// No file of this process, and of those that it starts, becomes longer while it exists.
class FileLimit {
  public:
    explicit FileLimit(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &before_);
        handled_ = signal(SIGXFSZ, SIG_IGN);
        set({bytes, before_.rlim_max});
    }
    ~FileLimit() {
        set(before_);
        signal(SIGXFSZ, handled_);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

  private:
    static void set(const rlimit& limit) { EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0); }
    rlimit before_{};
    void (*handled_)(int) = nullptr;
};

class Failure : public EveryWay {
  protected:
    std::string log() const { return read_file(list() + ".runtask/edits"); }
    // Whether the change was made is unknown, and nobody says that it was not.
    static void expect_unknown(const Result<Answer>& answer) {
        ASSERT_FALSE(answer.ok());
        EXPECT_EQ(answer.error().code, ExitCode::unreachable) << answer.error().message;
        EXPECT_EQ(answer.error().message.find("nothing was changed"), std::string::npos)
            << answer.error().message;
    }
};

TEST_P(Failure, OfWhatFollowsTheRecordsLeavesTheChangeUnknown) {
    write_file(list(), "a\n");
    auto store = opened(list());
    Request request = append(version(*store), "record\n");
    request.copied_old = {"7.2-4"};  // somebody removed it
    expect_unknown(store->exchange(request));
    EXPECT_TRUE(log().ends_with("\nrecord\n"));
    EXPECT_TRUE(ask(*store, append(version(*store), "more\n")).changed);
}

TEST_P(Failure, OfTheNextListsRenamingLeavesTheChangeUnknown) {
    write_file(list(), "a\n");
    std::filesystem::create_hard_link(list(), folder_ / "other");
    auto store = opened(list());
    Request request = rewriting(version(*store), {{0, 0, "#"}});
    request.records = "record\n";
    const std::string in_place = list() + ".runtask/in_place." + request.known.log + "." +
                                 std::to_string(request.known.log_bytes + request.records.size());
    std::filesystem::create_directories(in_place + ".2/full");
    expect_unknown(store->exchange(request));
    EXPECT_TRUE(log().ends_with("\nrecord\n"));
    EXPECT_TRUE(ask(*store, append(version(*store), "more\n")).changed);
}

TEST_P(Failure, OfTheLogAfterTheListLeavesTheChangeUnknown) {
    if (GetParam() == Way::ssh) GTEST_SKIP() << "sshd has no limit of ours";
    write_file(list(), "a\n");
    std::filesystem::create_hard_link(list(), folder_ / "other");
    auto other = opened(Way::local, list());
    ASSERT_TRUE(ask(*other, append(version(*other), std::string(3000, 'r') + "\n")).changed);
    {
        const FileLimit limit(log().size() + 7);
        auto store = opened(list());
        Request request = rewriting(version(*store), {{0, 0, "#"}});
        request.records = "record\n";
        expect_unknown(store->exchange(request));
        EXPECT_TRUE(log().ends_with("\nrecord\n"));
    }
    ask(*other, Request{});
    EXPECT_EQ(read_file(folder_ / "other"), "#a\n");
    EXPECT_NE(log().find("\nrecord\nFILE "), std::string::npos) << log();
}

// A link that leads nowhere has a size but cannot be opened, as a file that somebody renamed just now.
TEST_P(Failure, OfAnOldFileThatIsGoneKeepsNobodyWaiting) {
    write_file(list(), "a\n");
    auto store = opened(list());
    write_file(list() + ".runtask/old/1.2", "a\nb\n");
    std::filesystem::create_symlink("nowhere", list() + ".runtask/old/2.2");
    const Answer answer = ask(*store, Request{});
    EXPECT_EQ(answer.file, "a\n");
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "b\n");
    auto viewer = masters_.store(GetParam(), list(), {});
    ASSERT_TRUE(viewer->open_to_read().ok());
    const auto seen = viewer->read();
    ASSERT_TRUE(seen.ok()) << seen.error().message;
    EXPECT_EQ(seen->file, "a\n");
    EXPECT_EQ(seen->old.size(), 1U);
}

TEST_P(Failure, OfReadingSignsIsNotNobody) {
    auto store = opened(list());
    ASSERT_TRUE(store->beat(3, std::chrono::seconds(90)).ok());
    std::filesystem::rename(list() + ".runtask/alive", list() + ".runtask/away");
    EXPECT_TRUE(store->signs().ok());  // the folder is made anew
    std::filesystem::remove_all(list() + ".runtask/alive");
    write_file(list() + ".runtask/alive", "");
    EXPECT_FALSE(store->signs().ok());
    auto viewer = masters_.store(GetParam(), list(), {});
    ASSERT_TRUE(viewer->open_to_read().ok());
    if (GetParam() != Way::bare) {
        EXPECT_FALSE(viewer->signs().ok());
    }
    std::filesystem::remove(list() + ".runtask/alive");
    EXPECT_TRUE(viewer->signs().ok());
}

TEST_P(Failure, OfAChangeBesideAnEditIsTheEdit) {
    std::string text;
    std::vector<text::Splice> splices;
    for (int i = 0; i < 50'000; ++i) {
        splices.push_back({text.size(), 0, "#"});
        text += "line " + std::to_string(i) + "\n";
    }
    auto store = opened(list());
    bool refused = false;
    for (int i = 0; i < 20 && !refused; ++i) {
        write_file(list(), text);
        const Version known = version(*store);
        std::atomic<bool> over = false;
        std::thread editor([&] {
            const std::string next = list() + ".runtask/new";
            for (std::optional<struct stat> found; !over && !(found && found->st_size > 0);)
                found = stat_of(next);
            std::filesystem::resize_file(list(), 0);
        });
        const auto answer = store->exchange(rewriting(known, splices));
        over = true;
        editor.join();
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        refused = !answer->changed;
    }
    EXPECT_TRUE(refused);
}

WQ_SOME_WAYS(Failure);

}  // namespace
}  // namespace wq::shared_list::store
