#include "net/contact/registry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

#include "records/journal/run_status.h"
#include "support/folder.h"

namespace wq::net::contact {
namespace {

namespace fs = std::filesystem;

class Registry : public ::testing::Test {
  protected:
    frames::Contact contact(const std::string& name, std::uint16_t port = 9123) {
        frames::Contact contact;
        contact.addresses = {"10.0.0.7"};
        contact.port = port;
        contact.key = std::string("k\0y", 3);
        contact.name = name;
        contact.pid = ::getpid();
        contact.host = records::journal::host_name();
        return contact;
    }
    std::unique_ptr<Registration> add(const frames::Contact& contact) {
        return register_manager(folder_, contact).or_throw();
    }
    std::vector<std::string> found(const std::string& pattern) {
        std::vector<std::string> names;
        for (const Listing& listing : find_managers(folder_, pattern, 1).or_throw())
            names.push_back(listing.contact.name);
        std::sort(names.begin(), names.end());
        return names;
    }
    // Threads write when they like.
    static bool until(const std::function<bool()>& condition) {
        const Instant last = instant_now() + std::chrono::minutes(1);
        while (!condition()) {
            if (instant_now() > last) return false;
            std::this_thread::yield();
        }
        return true;
    }
    std::vector<fs::path> entries() {
        std::vector<fs::path> all;
        for (const auto& file : fs::directory_iterator(folder_)) all.push_back(file.path());
        return all;
    }
    static void make_old(const fs::path& path) {
        const timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - 600, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
    }
    test::Folder made_;
    std::string folder_ = made_ / "made by us";
};

using Names = std::vector<std::string>;

TEST_F(Registry, AManagerIsFoundByItsWholeNameWhileItLives) {
    const auto one = add(contact("align-1"));
    {
        const auto two = add(contact("align-2"));
        EXPECT_EQ(found("align-[0-9]"), (Names{"align-1", "align-2"}));
        EXPECT_EQ(found("align"), Names{});
        EXPECT_EQ(found("align.*2"), Names{"align-2"});
    }
    EXPECT_EQ(found(".*"), Names{"align-1"});
}

TEST_F(Registry, TheContactComesWhole) {
    const auto entry = add(contact("a"));
    const auto listings = find_managers(folder_, "a", 1).or_throw();
    ASSERT_EQ(listings.size(), 1u);
    EXPECT_EQ(listings[0].contact.key, std::string("k\0y", 3));
    EXPECT_EQ(listings[0].contact.addresses, (std::vector<std::string>{"10.0.0.7"}));
    EXPECT_EQ(listings[0].contact.port, 9123);
}

TEST_F(Registry, NamesMayHaveAnyLettersAndStayInTheFolder) {
    const std::string name = "../../a name/with \xc3\xa4 and .." + std::string(300, 'x');
    const auto entry = add(contact(name));
    EXPECT_EQ(found(".*"), Names{name});
    for (const fs::path& path : entries()) EXPECT_EQ(path.parent_path(), folder_);
}

TEST_F(Registry, ManagersOfOneNameAreTwo) {
    const auto one = add(contact("a", 1));
    const auto two = add(contact("a", 2));
    EXPECT_EQ(found("a"), (Names{"a", "a"}));
}

TEST_F(Registry, ThoseWithWaitingTasksComeFirst) {
    const auto idle = add(contact("idle"));
    const auto busy = add(contact("busy"));
    // The thread writes when it likes: look until it has.
    busy->publish_load({7, 2});
    std::vector<Listing> listings;
    ASSERT_TRUE(until([&] {
        listings = find_managers(folder_, ".*", 1).or_throw();
        return listings.at(0).load.waiting + listings.at(1).load.waiting > 0;
    }));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        listings = find_managers(folder_, ".*", seed).or_throw();
        EXPECT_EQ(listings.at(0).contact.name, "busy");
        EXPECT_EQ(listings.at(0).load, (Workload{7, 2}));
    }
}

TEST_F(Registry, AmongThoseWithWaitingTasksPriorityDecides) {
    const auto idle = add(contact("idle"));
    const auto low = add(contact("low"));
    const auto high = add(contact("high"));
    idle->publish_load({0, 0, 9});
    low->publish_load({5, 0, -1});
    high->publish_load({1, 0, 3});
    std::vector<Listing> listings;
    const auto waiting = [&] {
        std::uint64_t tasks = 0;
        for (const Listing& listing : listings) tasks += listing.load.waiting;
        return tasks;
    };
    ASSERT_TRUE(until([&] {
        listings = find_managers(folder_, ".*", 1).or_throw();
        return waiting() >= 6;
    }));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        listings = find_managers(folder_, ".*", seed).or_throw();
        EXPECT_EQ(listings.at(0).contact.name, "high");
        EXPECT_EQ(listings.at(0).load, (Workload{1, 0, 3}));
        EXPECT_EQ(listings.at(1).contact.name, "low");
        EXPECT_EQ(listings.at(2).contact.name, "idle");
    }
}

TEST_F(Registry, AmongEqualsTheOrderIsRandom) {
    const auto one = add(contact("one"));
    const auto two = add(contact("two"));
    std::set<std::string> first;
    for (std::uint64_t seed = 0; seed < 50; ++seed)
        first.insert(find_managers(folder_, ".*", seed).or_throw().at(0).contact.name);
    EXPECT_EQ(first.size(), 2u);
}

TEST_F(Registry, WhoIsGoneIsNotFound) {
    frames::Contact gone = contact("gone");
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    gone.pid = child;
    const auto entry = add(gone);
    EXPECT_EQ(entries().size(), 1u);
    EXPECT_EQ(found(".*"), Names{});
    EXPECT_TRUE(entries().empty());
}

TEST_F(Registry, WhoHasNotWrittenForLongIsRemovedByWhoeverComesNext) {
    for (const bool looks : {true, false}) {
        frames::Contact elsewhere = contact("elsewhere");
        elsewhere.host = "another-host";
        const auto entry = add(elsewhere);
        EXPECT_EQ(found(".*"), Names{"elsewhere"});
        for (const char* leftover : {"/.new-abcdef", "/.now-abcdef"})
            std::ofstream(folder_ + leftover) << "torn";
        const Names others{"/not ours", "/mine.manager", "/.new-version", "/.now-or-never"};
        for (const std::string& name : others) std::ofstream(folder_ + name) << "x";
        for (const fs::path& path : entries()) make_old(path);
        std::unique_ptr<Registration> other;
        if (looks)
            EXPECT_EQ(found(".*"), Names{});
        else
            other = add(contact("other"));
        EXPECT_EQ(entries().size(), others.size() + (looks ? 0 : 1));
        for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder_ + name)) << name;
    }
}

TEST_F(Registry, WhatIsBeingWrittenStays) {
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::owner_all);
    std::ofstream(folder_ + "/.new-abcdef") << "half";
    EXPECT_EQ(found(".*"), Names{});
    EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Registry, AFolderThatOthersMayWriteInIsRefused) {
    const auto entry = add(contact("a"));
    for (const fs::perms whose : {fs::perms::group_write, fs::perms::others_write}) {
        fs::permissions(folder_, fs::perms::owner_all | whose);
        const auto refused = find_managers(folder_, ".*", 1);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, ExitCode::not_allowed);
        EXPECT_NE(refused.error().message.find("chmod go-w"), std::string::npos) << refused.error().message;
    }
    fs::permissions(folder_, fs::perms::owner_all);
    EXPECT_EQ(found(".*"), Names{"a"});
}

TEST_F(Registry, AFolderOfAnotherUserIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    fs::create_directories(folder_);
    fs::permissions(folder_, fs::perms::owner_all | fs::perms::group_read | fs::perms::others_read);
    ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
    const auto refused = find_managers(folder_, ".*", 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ExitCode::not_allowed);
    EXPECT_NE(refused.error().message.find("another user's"), std::string::npos) << refused.error().message;
    EXPECT_FALSE(register_manager(folder_, contact("a")).ok());
}

TEST_F(Registry, NoLinkIsFollowed) {
    const auto entry = add(contact("a"));
    const fs::path elsewhere = fs::path(folder_).parent_path() / "elsewhere";
    fs::rename(entries().at(0), elsewhere);
    fs::create_symlink(elsewhere, folder_ + "/link.manager");
    EXPECT_EQ(found(".*"), Names{});
}

// A signal of the program is for its own threads.
TEST_F(Registry, ItsThreadTakesNoSignal) {
    const auto entry = add(contact("a"));
    int others = 0;
    for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
        if (thread.path().filename() == std::to_string(::getpid())) continue;
        ++others;
        std::ifstream in(thread.path() / "status");
        std::string line;
        while (std::getline(in, line) && !line.starts_with("SigBlk:")) {
        }
        if (!in) continue;  // it has just ended
        const auto blocked = std::stoull(line.substr(7), nullptr, 16);
        for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGALRM, SIGCHLD})
            EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << signal;
    }
    EXPECT_GE(others, 1);
}

TEST_F(Registry, AnEntryThatCannotBeWrittenAnewIsSaidOnce) {
    std::vector<std::string> said;
    const auto entry = register_manager(
                           folder_, contact("a"), [&](const std::string& text) { said.push_back(text); },
                           std::chrono::milliseconds(1))
                           .or_throw();
    entry->publish_load({1, 0});
    EXPECT_TRUE(said.empty());
    fs::rename(folder_, folder_ + " aside");  // at once: the entry is being written
    ASSERT_TRUE(until([&] {
        entry->publish_load({1, 0});
        return !said.empty();
    }));
    EXPECT_NE(said[0].find("the entry of this manager in the registry cannot be written: "), said[0].npos);
    for (const bool waits : {false, true, false}) entry->publish_load({waits ? 1U : 0U, 0});
    EXPECT_EQ(said.size(), 1U);
}

TEST_F(Registry, WhoHasNotWrittenForLongIsPassedOver) {
    frames::Contact elsewhere = contact("elsewhere");
    elsewhere.host = "another-host";
    const auto entry = add(elsewhere);
    EXPECT_EQ(found(".*"), Names{"elsewhere"});
    make_old(entries().at(0));
    EXPECT_EQ(found(".*"), Names{});
}

TEST_F(Registry, WhatOthersMayHaveWrittenIsPassedOver) {
    const auto entry = add(contact("a"));
    EXPECT_EQ(fs::status(entries().at(0)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    fs::permissions(entries().at(0), fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(found(".*"), Names{});
}

TEST_F(Registry, TornEntriesArePassedOver) {
    const auto entry = add(contact("a"));
    const std::string whole = test::read_file(entries().at(0));
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7) {
        std::ofstream(folder_ + "/torn.manager") << whole.substr(0, size);
        EXPECT_EQ(found(".*"), Names{"a"}) << size;
    }
    std::ofstream(folder_ + "/torn.manager") << "\xff\xfe{\"contact\": 3}";
    EXPECT_EQ(found(".*"), Names{"a"});
}

TEST_F(Registry, BadNamesPatternsAndFoldersAreRefused) {
    EXPECT_EQ(register_manager(folder_, contact("")).error().code, ExitCode::usage);
    EXPECT_EQ(register_manager(folder_, contact("a\nb")).error().code, ExitCode::usage);
    EXPECT_EQ(find_managers(folder_, "a(", 1).error().code, ExitCode::usage);
    EXPECT_TRUE(find_managers(folder_ + "/none", ".*", 1).or_throw().empty());
    std::ofstream(folder_ + "-file") << "x";
    EXPECT_EQ(register_manager(folder_ + "-file", contact("a")).error().code, ExitCode::not_allowed);
    fs::create_directory(folder_);
    fs::permissions(folder_, fs::perms::all);
    const auto refused = register_manager(folder_, contact("a"));
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("chmod go-w"), std::string::npos) << refused.error().message;
}

TEST_F(Registry, ThoseWithoutANameAreNotedForWhoLooksAtAll) {
    std::vector<Listing> noted;
    {
        const auto note = note_manager(folder_, contact(""));
        ASSERT_TRUE(until([&] { return !(noted = noted_managers(folder_)).empty(); }));
        EXPECT_EQ(noted[0].contact.port, 9123);
        EXPECT_EQ(noted[0].contact.key, std::string("k\0y", 3));
        EXPECT_EQ(found(".*"), Names{}) << "no worker finds it";
        EXPECT_EQ(fs::status(entries().at(0)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
        forget_manager(noted[0]);
        EXPECT_EQ(noted_managers(folder_).size(), 1u) << "it may only be busy";
        const auto other = note_manager(folder_, contact("", 9124));
        ASSERT_TRUE(until([&] { return noted_managers(folder_).size() == 2; }));
        noted[0].age = std::chrono::hours(25);
        forget_manager(noted[0]);
        noted = noted_managers(folder_);
        ASSERT_EQ(noted.size(), 1u);
        EXPECT_EQ(noted[0].contact.port, 9124);
    }
    EXPECT_TRUE(until([&] { return entries().empty(); })) << "they end with their manager";
    frames::Contact gone = contact("");
    gone.pid = ::fork();
    if (gone.pid == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(static_cast<pid_t>(gone.pid), nullptr, 0), gone.pid);
    const auto left = note_manager(folder_, gone);
    ASSERT_TRUE(until([&] {
        const auto all = entries();
        return std::any_of(all.begin(), all.end(),
                           [](const fs::path& path) { return path.extension() == ".unnamed"; });
    }));
    EXPECT_TRUE(noted_managers(folder_).empty());
    EXPECT_TRUE(entries().empty());
}

TEST_F(Registry, AFactoryIsListedWithItsNewestRecord) {
    const auto records = [&] {
        Names all;
        for (const FactoryListing& one : find_factories(folder_)) all.push_back(one.record);
        return all;
    };
    {
        FactoryEntry entry(folder_);
        entry.publish_record("first");
        ASSERT_TRUE(until([&] { return records() == Names{"first"}; }));
        entry.publish_record("second");
        ASSERT_TRUE(until([&] { return records() == Names{"second"}; }));
        EXPECT_EQ(fs::status(entries().at(0)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }
    EXPECT_TRUE(until([&] { return entries().empty(); })) << "it ends with its factory";
    const fs::path elsewhere = folder_ + "/elsewhere-7-1.factory";
    std::ofstream(elsewhere) << "of another host";
    fs::permissions(elsewhere, fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(records(), Names{"of another host"});
    fs::permissions(elsewhere, fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(records(), Names{}) << "others may have written it";
    fs::permissions(elsewhere, fs::perms::owner_read | fs::perms::owner_write);
    make_old(elsewhere);
    EXPECT_EQ(records(), Names{});
    EXPECT_TRUE(entries().empty());
}

TEST_F(Registry, AFolderThatCannotBeWrittenFailsNoNote) {
    std::ofstream(fs::path(folder_).parent_path() / "file") << "x";
    const auto note = note_manager(fs::path(folder_).parent_path() / "file", contact(""));
    const auto other = note_manager("/sys/none/registry", contact(""));
    EXPECT_TRUE(noted_managers("/sys/none/registry").empty());
}

TEST_F(Registry, SaysWhyItsFolderCannotBeMade) {
    const auto refused = register_manager("/sys/none/registry", contact("a"));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message.find("No such file"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace wq::net::contact
