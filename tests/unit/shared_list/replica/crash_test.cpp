// What a crash leaves in files, and what others make of it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "shared_list/replica/line_taker.h"
#include "shared_list/replica/list_copy.h"
#include "shared_list/store/local_store.h"
#include "shared_list/text/choice.h"
#include "support/folder.h"

namespace {

using namespace wq;
using namespace wq::shared_list::replica;
using shared_list::text::TryEnd;
using test::read_file;
using test::write_file;

// A worker on real files.
struct LocalWorker {
    explicit LocalWorker(const std::string& file) : store(file, {}), list(store, [](const std::string&) {}) {}

    // Ends what it runs, and takes the next line. Returns its command; "": none.
    std::string step() {
        if (!taker) {
            if (!list.open()) return "error";
            const auto joined = list.join("host", std::nullopt);
            if (!joined || !store.beat(*joined, std::chrono::seconds(60))) return "error";
            taker.emplace(list, id = *joined);
        }
        if (running) {
            const shared_list::text::MarkedLine& line = list.list().line(running);
            taker->add_end({running, id, line.tries.back().begun, {}, TryEnd::ok, 0, line.command});
        }
        constexpr bool may_begin = true;
        const auto next = taker->step(may_begin);
        if (!next) return "error";
        running = *next ? (*next)->number : 0;
        return running ? list.list().line(running).command : "";
    }

    shared_list::store::LocalStore store;
    SharedList list;
    std::optional<LineTaker> taker;
    shared_list::text::WorkerId id = 0;
    std::uint64_t running = 0;
};

class Crash : public ::testing::Test {
  protected:
    // The log says that the list was rewritten after `b` had begun; the rename never came, and nobody lives.
    void crash_before_rename() {
        write_file(list, "a\nb\nc\n");
        LocalWorker worker(list);
        ASSERT_EQ(worker.step(), "a");
        ASSERT_TRUE(worker.list.settle());
        struct stat before {};
        ASSERT_EQ(stat(list.c_str(), &before), 0);
        ASSERT_EQ(worker.step(), "b");
        ASSERT_TRUE(worker.list.settle());
        std::filesystem::rename(list, list + ".runtask/new");
        for (const auto& old : std::filesystem::directory_iterator(list + ".runtask/old")) {
            struct stat found {};
            if (stat(old.path().c_str(), &found) == 0 && found.st_ino == before.st_ino)
                std::filesystem::create_hard_link(old.path(), list);
        }
        ASSERT_NE(read_file(list).find("\nb\n"), std::string::npos);
        ASSERT_TRUE(worker.store.remove_sign(worker.id));
    }

    test::Folder folder;
    std::string list = folder / "tasks.sh";
};

TEST_F(Crash, WhatOnlyTheLogHasIsMadeAgainAfterAnEdit) {
    crash_before_rename();
    write_file(folder / "edited", "x\n" + read_file(list));
    std::filesystem::rename(folder / "edited", list);
    shared_list::store::LocalStore looks(list, {});
    const auto seen = view(looks);
    ASSERT_TRUE(seen);
    EXPECT_NE(seen->bytes().find("\n#a # worker 0 #"), std::string::npos) << seen->bytes();
    LocalWorker next(list);
    EXPECT_EQ(next.step(), "x");
    EXPECT_EQ(next.step(), "c");
}

TEST_F(Crash, WithoutAnEditTheLogHasAll) {
    crash_before_rename();
    LocalWorker next(list);
    EXPECT_EQ(next.step(), "c");
}

// The rename came: what the editor undid stays undone.
TEST_F(Crash, AListThatIsResetByAnEditorStaysReset) {
    write_file(list, "a\nb\n");
    {
        LocalWorker worker(list);
        ASSERT_EQ(worker.step(), "a");
        ASSERT_EQ(worker.step(), "b");
        ASSERT_TRUE(worker.list.settle());
        ASSERT_TRUE(worker.store.remove_sign(worker.id));
    }
    write_file(folder / "edited", "a\nb\n");
    std::filesystem::rename(folder / "edited", list);
    LocalWorker next(list);
    EXPECT_EQ(next.step(), "a");
}

}  // namespace
