// The ways to reach a list, for tests that hold for all of them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/time.h"
#include "shared_list/ssh/ssh_store.h"
#include "shared_list/store/local_store.h"
#include "support/folder.h"
#include "support/ssh_server.h"

namespace wq::shared_list::store {

// By system calls; by a real sshd; by the helper alone as other masters have it: with BusyBox, with bash as
// sh, and with utilities that do no more than POSIX says.
enum class Way { local, ssh, busybox, bash, bare };

inline std::string name_of(Way way) {
    constexpr const char* names[] = {"local", "ssh", "busybox", "bash", "bare"};
    return names[static_cast<int>(way)];
}

inline std::string where_is(const std::string& program) {
    const char* told = std::getenv("PATH");
    std::string rest = std::string(told == nullptr ? "" : told) + ":";
    for (std::size_t end; (end = rest.find(':')) != std::string::npos; rest.erase(0, end + 1)) {
        const std::string path = rest.substr(0, end) + "/" + program;
        if (end > 0 && access(path.c_str(), X_OK) == 0) return path;
    }
    return {};
}

inline void write_program(const std::string& path, const std::string& text) {
    test::write_file(path, text);
    chmod(path.c_str(), 0755);
}

// An `ssh` that runs the command here, as a login shell `shell` ("tcsh -f") of the host would. `path`: its
// PATH.
inline std::vector<std::string> fake_ssh(const std::string& shell, const std::string& path = "") {
    const std::string set = path.empty() ? "" : "PATH='" + path + "'; export PATH; ";
    return {"/bin/sh", "-c", "for last; do :; done; " + set + "exec " + shell + " -c \"$last\"", "ssh"};
}

// Another home directory while it exists.
class Home {
  public:
    explicit Home(const std::string& path) {
        if (const char* const told = std::getenv("HOME"); told != nullptr) before_ = told;
        setenv("HOME", path.c_str(), 1);
    }
    ~Home() { setenv("HOME", before_.c_str(), 1); }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;

  private:
    std::string before_;
};

// A folder of programs for a master's PATH.
class Programs {
  public:
    void link(const std::string& name, const std::string& target) const {
        std::filesystem::create_symlink(target, folder_ / name);
    }
    void link_all(const std::vector<std::string>& names) const {
        for (const std::string& name : names)
            if (const std::string path = where_is(name); !path.empty()) link(name, path);
    }
    // A program that fails when it is asked for what POSIX does not have.
    void narrow(const std::string& name, const std::string& refused) const {
        write_program(folder_ / name, "#!/bin/sh\ncase \" $* \" in " + refused + ") exit 64 ;; esac\nexec " +
                                          where_is(name) + " \"$@\"\n");
    }
    std::string path() const { return folder_.path(); }

  private:
    test::Folder folder_;
};

inline const std::vector<std::string>& utilities() {
    static const std::vector<std::string> names{
        "awk",   "cat", "cksum", "cp", "date", "dd",   "find",     "flock", "head", "ln",   "ls",
        "mkdir", "mv",  "rm",    "sh", "sort", "stat", "readlink", "sync",  "tail", "touch"};
    return names;
}

class Masters {
  public:
    // Why a way cannot be tried; "": it can.
    std::string problem(Way way) {
        if (way == Way::ssh) return server().problem();
        if (way == Way::busybox && where_is("busybox").empty()) return "no BusyBox";
        if (way == Way::bash && where_is("bash").empty()) return "no bash";
        if (way != Way::local && where_is("flock").empty()) return "no flock";
        return {};
    }

    std::unique_ptr<ListStore> store(Way way, const std::string& file,
                                     std::function<void(const std::string&)> say) {
        if (way == Way::local) return std::make_unique<LocalStore>(file, std::move(say));
        return std::make_unique<ssh::SshStore>(test::SshServer::host(), file, std::move(say), ssh(way));
    }

    // The value of RUNTASK_SSH.
    std::vector<std::string> ssh(Way way) {
        return way == Way::ssh ? server().words() : fake_ssh("sh", programs(way));
    }

    test::SshServer& server() {
        if (!server_) server_ = std::make_unique<test::SshServer>();
        return *server_;
    }

  private:
    std::string programs(Way way) {
        auto& programs = programs_[static_cast<int>(way)];
        if (programs) return programs->path();
        programs = std::make_unique<Programs>();
        if (way == Way::busybox) {
            for (const std::string& name : utilities())
                programs->link(name, where_is(name == "flock" ? name : "busybox"));
            programs->link_all({"getfacl", "setfacl"});
        } else if (way == Way::bash) {
            programs->link("sh", where_is("bash"));
            for (const std::string& name : utilities())
                if (name != "sh") programs->link_all({name});
        } else
            narrow_all(*programs);
        return programs->path();
    }
    static void narrow_all(const Programs& programs) {
        programs.link_all({"awk", "cat", "cksum", "date", "find", "head", "ln", "ls", "mkdir", "mv", "rm",
                           "sh", "sort", "readlink", "tail", "touch"});
        programs.narrow("cp", "*--*");
        programs.narrow("dd", "*flag=* | *fsync*");
        programs.narrow("flock", "*' -w '*");
        // All disks of the machine are other tests', too.
        write_program(programs.path() + "/sync", "#!/bin/sh\n[ $# -eq 0 ]\n");
    }

    std::unique_ptr<test::SshServer> server_;
    std::unique_ptr<Programs> programs_[5];
};

// What a store says, for one that waits for it.
class Heard {
  public:
    std::function<void(const std::string&)> say() {
        return [this](const std::string& line) {
            const std::lock_guard guard(mutex_);
            lines_.push_back(line);
            more_.notify_all();
        };
    }
    void wait_for(std::size_t count) {
        std::unique_lock guard(mutex_);
        more_.wait(guard, [&] { return lines_.size() >= count; });
    }
    std::vector<std::string> lines() {
        const std::lock_guard guard(mutex_);
        return lines_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<std::string> lines_;
};

class EveryWay : public testing::TestWithParam<Way> {
  protected:
    void SetUp() override {
        if (const std::string problem = masters_.problem(GetParam()); !problem.empty())
            GTEST_SKIP() << problem;
    }

    std::unique_ptr<ListStore> opened(const std::string& file) { return opened(GetParam(), file); }
    std::unique_ptr<ListStore> opened(Way way, const std::string& file) {
        auto store = masters_.store(way, file, heard_.say());
        const Status status = store->open();
        EXPECT_TRUE(status.ok()) << status.error().message;
        return store;
    }
    std::string list() const { return folder_ / "tasks.sh"; }

    static Answer ask(ListStore& store, const Request& request) {
        auto answer = store.exchange(request);
        EXPECT_TRUE(answer.ok()) << answer.error().message;
        return answer.ok() ? std::move(*answer) : Answer{};
    }
    static bool is_locked(const std::string& path) {
        const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
        return flock(file.get(), LOCK_EX | LOCK_NB) != 0;
    }
    static bool comes_in_time(const std::function<bool()>& thing) {
        const Instant end = instant_now() + std::chrono::seconds(20);
        while (!thing() && instant_now() < end) poll(nullptr, 0, 5);
        return thing();
    }
    static Version version(ListStore& store) { return ask(store, Request{}).now; }
    static Request append(const Version& known, const std::string& records) {
        Request request;
        request.known = known;
        request.records = records;
        return request;
    }
    static Request rewriting(const Version& known, std::vector<text::Splice> splices) {
        Request request;
        request.known = known;
        request.splices = std::move(splices);
        request.rewrite = true;
        return request;
    }

    test::Folder folder_;
    Heard heard_;
    Masters masters_;
};

#define WQ_WAYS(suite, ...)                                             \
    INSTANTIATE_TEST_SUITE_P(Ways, suite, testing::Values(__VA_ARGS__), \
                             [](const auto& test) { return name_of(test.param); })
#define WQ_EVERY_WAY(suite) WQ_WAYS(suite, Way::local, Way::ssh, Way::busybox, Way::bash, Way::bare)
// A connection by sshd costs half a second of processor, so that only what differs most is tried by all ways.
#ifdef WQ_LONG
inline constexpr bool is_long = true;
#define WQ_WAYS_OF_SHELLS(suite) WQ_EVERY_WAY(suite)
#define WQ_WAYS_OF_UTILITIES(suite) WQ_EVERY_WAY(suite)
#define WQ_SOME_WAYS(suite) WQ_EVERY_WAY(suite)
#else
inline constexpr bool is_long = false;
#define WQ_WAYS_OF_SHELLS(suite) WQ_WAYS(suite, Way::local, Way::busybox, Way::bash, Way::bare)
#define WQ_WAYS_OF_UTILITIES(suite) WQ_WAYS(suite, Way::local, Way::busybox, Way::bare)
#define WQ_SOME_WAYS(suite) WQ_WAYS(suite, Way::local, Way::busybox)
#endif

}  // namespace wq::shared_list::store
