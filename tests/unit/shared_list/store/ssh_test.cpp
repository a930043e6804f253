// The connection to a master: how it fails, and how it is made again.
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "shared_list/ssh/remote_helper.h"
#include "stores.h"

namespace wq::shared_list::store {
namespace {

using namespace std::chrono_literals;
using test::SshServer;

class Ssh : public testing::Test {
  protected:
    void SetUp() override {
        if (!server_.problem().empty()) GTEST_SKIP() << server_.problem();
    }
    std::string list() const { return folder_ / "tasks.sh"; }
    ssh::SshStore store(const std::string& config = "client") {
        return ssh::SshStore(SshServer::host(), list(), {}, {"ssh", "-F", server_.folder() + "/" + config});
    }
    test::Folder folder_;
    SshServer server_;
};

void expect_error(const Status& status, ExitCode code, const std::string& what) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code) << status.error().message;
    EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos) << status.error().message;
}

TEST_F(Ssh, AMasterThatWantsAPassword) {
    server_.write_client_config("stranger", server_.folder() + "/host_key");
    expect_error(store("stranger").open(), ExitCode::not_allowed, "ssh-copy-id " + SshServer::host());
}

TEST_F(Ssh, AMasterWithoutSshd) {
    server_.stop();
    expect_error(store().open(), ExitCode::unreachable, "Connection refused");
}

TEST_F(Ssh, AConnectionThatIsLostIsMadeAgain) {
    ssh::SshStore list = store();
    ASSERT_TRUE(list.open().ok());
    auto answer = list.exchange({});
    ASSERT_TRUE(answer.ok());
    for (const pid_t ssh : SshServer::children_of(getpid()))
        if (test::read_file("/proc/" + std::to_string(ssh) + "/comm") == "ssh\n") kill(ssh, SIGKILL);
    Request request;
    request.known = answer->now;
    const auto lost = list.exchange(request);
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.error().code, ExitCode::unreachable);
    answer = list.exchange(request);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->now, request.known);
    // And if the master's side ends.
    for (const pid_t session : server_.sessions()) SshServer::kill_tree(session);
    EXPECT_FALSE(list.exchange(request).ok());
    EXPECT_TRUE(list.exchange(request).ok());
}

TEST_F(Ssh, NothingIsLeftAtTheMaster) {
    {
        ssh::SshStore list = store();
        ASSERT_TRUE(list.open().ok());
        auto held = list.hold();
        ASSERT_TRUE(held.ok());
        EXPECT_GE(server_.sessions().size(), 2U);
    }
    for (int i = 0; i < 1000 && !server_.sessions().empty(); ++i) poll(nullptr, 0, 10);
    EXPECT_TRUE(server_.sessions().empty());
}

TEST_F(Ssh, AListFromTheHomeDirectory) {
    const std::string name = ".wq-test-" + std::to_string(getpid());
    const char* const home = getpwuid(geteuid())->pw_dir;
    for (const char* const prefix : {"", "~/"}) {
        ssh::SshStore list(SshServer::host(), std::string(prefix) + name, {}, server_.words());
        EXPECT_TRUE(list.open().ok());
        EXPECT_TRUE(std::filesystem::exists(std::string(home) + "/" + name));
    }
    for (const char* end : {"", ".lock", ".runtask"})
        std::filesystem::remove_all(std::string(home) + "/" + name + end);
}

// Without a server.

std::vector<std::string> ssh_that(const std::string& does) {
    return {"/bin/sh", "-c", does, "ssh"};
}

Status open_with(const std::vector<std::string>& ssh, const std::string& host = "master",
                 const std::string& list = "/tmp/no-such-folder/list") {
    return ssh::SshStore(host, list, {}, ssh).open();
}

TEST(SshProblems, SayTheRemedy) {
    const auto fails = [](const std::string& text) {
        return open_with(ssh_that("echo 'Warning: something' >&2; echo '" + text + "' >&2; exit 255"));
    };
    expect_error(fails("ssh: Could not resolve hostname master: Name or service not known"),
                 ExitCode::unreachable, "check the name");
    expect_error(fails("Host key verification failed."), ExitCode::not_allowed, "accept its key once");
    expect_error(fails("user@master: Permission denied (publickey,password)."), ExitCode::not_allowed,
                 "ssh -o BatchMode=yes master true");
    expect_error(fails("ssh: connect to host master port 22: Connection timed out"), ExitCode::unreachable,
                 "firewall");
    expect_error(fails("kex_exchange_identification: read: reset"), ExitCode::unreachable,
                 "kex_exchange_identification: read: reset; test: ssh master true");
    expect_error(open_with(ssh_that("exit 1")), ExitCode::unreachable, "exit code 1");
    expect_error(open_with({"/no/such/ssh"}), ExitCode::unreachable, "install an ssh client");
    expect_error(open_with(ssh_that("echo This account is closed.")), ExitCode::unreachable, "exit code 0");
}

TEST(SshProblems, AMasterThatHangs) {
    ssh::Master master{ssh_that("cat >/dev/null; exit 0"), "master", "list"};
    master.silence = 100ms;
    auto helper = ssh::RemoteHelper::start(master, {});
    ASSERT_FALSE(helper.ok());
    EXPECT_EQ(helper.error().code, ExitCode::unreachable);
    EXPECT_NE(helper.error().message.find("has not answered"), std::string::npos) << helper.error().message;
}

TEST(SshProblems, AMasterThatTalksForEver) {
    expect_error(open_with(ssh_that("while echo welcome; do :; done")), ExitCode::unreachable, "master");
}

TEST(SshProblems, AMasterWithoutFlock) {
    const Programs programs;
    programs.link_all({"sh", "dd", "mkdir", "ls"});
    const test::Folder folder;
    expect_error(open_with(fake_ssh("sh", programs.path()), "master", folder / "list"), ExitCode::bad_input,
                 "flock");
}

TEST(SshProblems, AHostThatLooksLikeAnOption) {
    const test::Folder folder;
    expect_error(open_with({"ssh"}, "-oProxyCommand=touch " + (folder / "x")), ExitCode::unreachable, "");
    EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

TEST(SshCommand, IsSplitAtBlanks) {
    unsetenv("RUNTASK_SSH");
    EXPECT_EQ(ssh::ssh_command(), std::vector<std::string>{"ssh"});
    setenv("RUNTASK_SSH", " ssh  -F a -p 2222 ", 1);
    EXPECT_EQ(ssh::ssh_command(), (std::vector<std::string>{"ssh", "-F", "a", "-p", "2222"}));
    unsetenv("RUNTASK_SSH");
}

// Login shells.

class LoginShell : public testing::TestWithParam<const char*> {};

TEST_P(LoginShell, StartsTheHelper) {
    const std::string shell = GetParam();
    if (where_is(shell.substr(0, shell.find(' '))).empty()) GTEST_SKIP() << "no " << shell;
    const test::Folder folder;
    const Home home(folder.path());  // fish writes there
    ssh::SshStore store("master", folder / "it's", {}, fake_ssh(shell));
    const Status opened = store.open();
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_TRUE(store.exchange({}).ok());
}

INSTANTIATE_TEST_SUITE_P(All, LoginShell,
                         testing::Values("sh", "bash", "bash --posix", "dash", "csh", "csh -f", "tcsh",
                                         "fish", "zsh", "mksh", "busybox sh"),
                         [](const auto& test) {
                             std::string name = test.param;
                             for (char& c : name)
                                 if (c == ' ' || c == '-') c = '_';
                             return name;
                         });

TEST(LoginShells, MayGreet) {
    const test::Folder folder;
    auto ssh = fake_ssh("sh");
    ssh[2] = "printf 'Welcome!\\nok wq bad ready\\nno line end'; " + ssh[2];
    ssh::SshStore store("master", folder / "list", {}, ssh);
    EXPECT_TRUE(store.open().ok());
    EXPECT_TRUE(store.exchange({}).ok());
}

TEST(LoginShells, GetNoCharacterThatTheyDisagreeOn) {
    EXPECT_EQ(ssh::start_command(1000).find_first_of("!\\\n`*?[{~"), std::string::npos);
    // Comments are not sent.
    EXPECT_EQ(ssh::master_helper.find("\n#"), std::string::npos);
}

}  // namespace
}  // namespace wq::shared_list::store
