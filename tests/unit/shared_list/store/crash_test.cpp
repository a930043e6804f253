// A list is whole whenever who rewrites it is killed.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "stores.h"
#include "support/some_of.h"

namespace wq::shared_list::store {
namespace {

using test::read_file;
using test::SshServer;
using test::write_file;

// The list's text of a number: of another length for each.
std::string text_of(int number) {
    std::string text;
    for (int i = 0; i < 2000 + number % 7; ++i) text += "line " + std::to_string(number) + "\n";
    return text;
}

// -1: it is no whole text.
int number_of(const std::string& text) {
    if (!text.starts_with("line ")) return -1;
    const int number = std::atoi(text.c_str() + 5);
    return text == text_of(number) ? number : -1;
}

class Killed : public EveryWay {
  protected:
    // Rewrites the list again and again until it is killed or told to stop.
    static void rewrite(ListStore& store, const std::atomic<bool>& over) {
        auto answer = store.exchange({});
        int number = answer.ok() && answer->file ? number_of(*answer->file) : 0;
        while (answer.ok() && !over) {
            const std::uint64_t bytes = text_of(number).size();
            Request request = rewriting(answer->now, {{0, bytes, text_of(number + 1)}});
            request.records = "to " + std::to_string(++number) + "\n";
            answer = store.exchange(request);
        }
    }

    // How long it takes to rewrite the list once.
    int rewriting_ms() {
        auto store = opened(list());
        const Answer answer = ask(*store, rewriting(version(*store), {{0, text_of(0).size(), text_of(1)}}));
        EXPECT_TRUE(answer.changed);
        EXPECT_EQ(number_of(read_file(list())), 1);
        return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(answer.rewriting).count());
    }

    void kill_one(std::mt19937& random, int rewriting_ms) {
        const int moment_ms = static_cast<int>(random() % static_cast<unsigned>(3 * rewriting_ms + 10));
        if (GetParam() == Way::local) {
            const pid_t pid = fork();
            if (pid == 0) {
                LocalStore store(list(), {});
                if (store.open().ok()) rewrite(store, false);
                _exit(1);
            }
            poll(nullptr, 0, moment_ms);
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
            return;
        }
        auto store = opened(list());
        std::atomic<bool> over = false;
        std::thread thread([&] { rewrite(*store, over); });
        poll(nullptr, 0, moment_ms);
        for (const pid_t helper : helpers()) {
            if (random() % 2 == 0)
                kill(helper, SIGKILL);  // what it has just started ends by itself
            else
                SshServer::kill_tree(helper);
        }
        over = true;
        thread.join();
    }

    std::vector<pid_t> helpers() {
        if (GetParam() != Way::ssh) return SshServer::children_of(getpid());
        std::vector<pid_t> found;
        for (const pid_t session : masters_.server().sessions()) find_shells(session, found);
        return found;
    }
    // Below sshd, which has one or two processes for a connection.
    static void find_shells(pid_t parent, std::vector<pid_t>& found) {
        for (const pid_t child : SshServer::children_of(parent)) {
            if (read_file("/proc/" + std::to_string(child) + "/comm").starts_with("sshd"))
                find_shells(child, found);
            else
                found.push_back(child);
        }
    }

    // What a worker that comes afterwards finds.
    void check(ListStore& store) {
        const Answer answer = ask(store, Request{});
        ASSERT_TRUE(answer.file.has_value());
        EXPECT_GE(number_of(*answer.file), 0);
        const std::string log = read_file(list() + ".runtask/edits");
        EXPECT_EQ(answer.log, log);
        EXPECT_TRUE(ask(store, append(answer.now, "after\n")).changed);
    }
};

TEST_P(Killed, AtAnyMomentTheListIsOldOrNew) {
    std::mt19937 random(static_cast<unsigned>(getpid()));
    write_file(list(), text_of(0));
    const int once_ms = rewriting_ms();
    auto after = opened(Way::local, list());
    for (int i = 0; i < test::some_of(30); ++i) {
        kill_one(random, once_ms);
        EXPECT_GE(number_of(read_file(list())), 0) << i;
        check(*after);
    }
}

TEST_P(Killed, AListWithOtherNamesIsCompletedByTheNext) {
    std::mt19937 random(static_cast<unsigned>(getpid()));
    write_file(list(), text_of(0));
    std::filesystem::create_hard_link(list(), folder_ / "other");
    const int once_ms = rewriting_ms();
    auto after = opened(Way::local, list());
    for (int i = 0; i < test::some_of(30); ++i) {
        kill_one(random, once_ms);
        check(*after);
        EXPECT_EQ(number_of(read_file(list())), number_of(read_file(folder_ / "other")));
    }
}

WQ_SOME_WAYS(Killed);

}  // namespace
}  // namespace wq::shared_list::store
