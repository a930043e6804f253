// Who only looks at a list waits for nobody and makes nothing, by each way to it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "stores.h"
#include "support/ordinary_user.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::write_file;

class Viewing : public EveryWay {
  protected:
    std::unique_ptr<ListStore> opened_to_read() {
        auto store = masters_.store(GetParam(), list(), heard_.say());
        const Status status = store->open_to_read();
        EXPECT_TRUE(status.ok()) << status.error().message;
        return store;
    }
    static Answer view(ListStore& store) {
        auto answer = store.read();
        EXPECT_TRUE(answer.ok()) << answer.error().message;
        return answer.ok() ? std::move(*answer) : Answer{};
    }
    std::set<std::string> files() const {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
            found.insert(entry.path().string());
        return found;
    }
};

TEST_P(Viewing, AMissingListIsNotMade) {
    auto store = masters_.store(GetParam(), list(), {});
    const Status status = store->open_to_read();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ExitCode::bad_input);
    EXPECT_NE(status.error().message.find("there is no list"), std::string::npos) << status.error().message;
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(files().empty());
}

TEST_P(Viewing, AListThatNoWorkerEverHadIsReadAndNothingIsMade) {
    write_file(list(), "echo a\n");
    auto store = opened_to_read();
    for (int i = 0; i < 2; ++i) {
        const Answer answer = view(*store);
        EXPECT_EQ(answer.file, "echo a\n");
        EXPECT_EQ(answer.log, "");
        const auto signs = store->signs();
        ASSERT_TRUE(signs.ok()) << signs.error().message;
        EXPECT_TRUE(signs->empty());
        EXPECT_TRUE(store->time().ok());
    }
    EXPECT_EQ(files(), std::set<std::string>{list()});
}

TEST_P(Viewing, ALockIsNotWaitedFor) {
    write_file(list(), "echo a\n");
    auto worker = opened(list());
    const Version now = ask(*worker, append(version(*worker), "record\n")).now;
    ASSERT_TRUE(worker->beat(7, std::chrono::seconds(90)).ok());
    const Descriptor late(open(list().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    const Answer rewritten = ask(*worker, rewriting(now, {{0, 0, "#"}}));
    ASSERT_TRUE(rewritten.changed);
    ASSERT_EQ(write(late.get(), "b\nc", 3), 3);
    auto other = opened(Way::local, list());
    auto held = other->hold();
    ASSERT_TRUE(held.ok());
    const auto before = files();
    auto store = opened_to_read();
    const Answer answer = view(*store);
    EXPECT_EQ(answer.file, "#echo a\n");
    EXPECT_EQ(answer.now, rewritten.now);
    EXPECT_TRUE(answer.whole_log);
    EXPECT_EQ(answer.log, read_file(list() + ".runtask/edits"));
    ASSERT_EQ(answer.old.size(), 1U);
    EXPECT_EQ(answer.old[0].appended, "b\n");
    EXPECT_EQ(files(), before);
    const auto signs = store->signs();
    ASSERT_TRUE(signs.ok());
    if (GetParam() == Way::bare) return;  // no ages of files
    ASSERT_EQ(signs->size(), 1U);
    EXPECT_EQ(signs->front().worker, 7U);
    EXPECT_LT(signs->front().age, std::chrono::seconds(60));
    EXPECT_GE(signs->front().age, Duration{0});
    EXPECT_EQ(files(), before);
}

// The text of a number, which the log's record before the text's FILE line has, too.
TEST_P(Viewing, AmidARewritingTheLogHasAllOfTheList) {
    write_file(list(), "0\n");
    auto worker = opened(list());
    std::atomic<bool> over = false;
    std::thread thread([&] {
        Answer answer = ask(*worker, rewriting(version(*worker), {}));
        for (int i = 1; !over; ++i) {
            const std::uint64_t bytes = read_file(list()).size();
            Request request = rewriting(answer.now, {{0, bytes,
                                                      std::string(static_cast<std::size_t>(i % 9), 'x') +
                                                          "\n" + std::to_string(i) + "\n"}});
            request.records = "to " + std::to_string(i) + "\n";
            request.new_log = i % 4 == 0;
            answer = ask(*worker, request);
            EXPECT_TRUE(answer.changed);
        }
    });
    auto store = opened_to_read();
    int known = 0;
    for (const Instant end = instant_now() + std::chrono::seconds(30); known < 5 && instant_now() < end;) {
        const Answer answer = view(*store);
        const std::string text = answer.file.value_or("\n");
        const std::size_t at = answer.log.find("FILE " + answer.now.file + "\n");
        if (at == std::string::npos) continue;  // amid the beginning of a new log
        const std::string number = text.substr(text.find_last_of('\n', text.size() - 2) + 1);
        const std::size_t record = answer.log.rfind("to ", at);
        if (number == "0\n") continue;
        ASSERT_NE(record, std::string::npos) << answer.log;
        EXPECT_EQ(answer.log.substr(record + 3, number.size()), number);
        ++known;
    }
    over = true;
    thread.join();
    EXPECT_EQ(known, 5);
}

TEST_P(Viewing, AListThatIsHalfWrittenOverIsSeenWhole) {
    write_file(list(), "a\nb\n");
    const Version known = version(*opened(list()));
    const std::string aside =
        list() + ".runtask/in_place." + known.log + "." + std::to_string(known.log_bytes) + ".4";
    write_file(aside, "#a\nb\nc\n");
    write_file(list(), "#a\nx");
    auto store = opened_to_read();
    const Answer answer = view(*store);
    EXPECT_EQ(answer.file, "#a\nb\nc\n");
    EXPECT_NE(answer.log.find("\nFILE " + answer.now.file + "\n"), std::string::npos) << answer.log;
    EXPECT_EQ(read_file(list()), "#a\nx");
    EXPECT_TRUE(std::filesystem::exists(aside));
}

TEST_P(Viewing, ANextListThatWasLeftAsideIsTold) {
    write_file(list(), "a\n");
    auto worker = opened(list());
    version(*worker);
    write_file(list() + ".runtask/new", "#a\n");
    const Answer answer = view(*opened_to_read());
    Request all;
    all.send_file = true;
    const Answer locked = ask(*worker, all);
    EXPECT_EQ(answer.left_aside, locked.left_aside);
    ASSERT_FALSE(locked.left_aside.empty());
    std::filesystem::rename(list() + ".runtask/new", list());
    EXPECT_EQ(view(*opened_to_read()).now.file, answer.left_aside);
    EXPECT_EQ(view(*opened_to_read()).left_aside, "");
}

TEST_P(Viewing, WhoMayOnlyReadSeesTheList) {
    if (geteuid() != 0 || GetParam() == Way::ssh) GTEST_SKIP() << "needs two users";
    write_file(list(), "a\n");
    auto worker = opened(list());
    ask(*worker, append(version(*worker), "record\n"));
    masters_.store(GetParam(), list(), {});
    EXPECT_TRUE(test::for_ordinary_user(folder_.path(), [&] {
        chmod(folder_.path().c_str(), 0555);
        auto store = opened_to_read();
        EXPECT_EQ(view(*store).file, "a\n");
        EXPECT_TRUE(store->signs().ok());
        return !HasFailure();
    }));
}

WQ_SOME_WAYS(Viewing);

}  // namespace
}  // namespace wq::shared_list::store
