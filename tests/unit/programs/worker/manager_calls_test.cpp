#include "programs/worker/manager_calls.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "net/contact/registry.h"
#include "records/journal/run_status.h"

namespace wq::programs::worker {
namespace {

using ::testing::EndsWith;

// A registry of this test's own, with managers on this host.
class Registry {
  public:
    Registry() {
        EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
        ::setenv("WORK_QUEUE_REGISTRY", folder_.c_str(), 1);
    }
    ~Registry() {
        entries_.clear();
        ::unsetenv("WORK_QUEUE_REGISTRY");
        std::filesystem::remove_all(folder_);
    }
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    void list(const std::string& name) {
        net::frames::Contact contact;
        contact.addresses = {"127.0.0.1"};
        contact.port = static_cast<std::uint16_t>(9000 + entries_.size());
        contact.name = name;
        contact.pid = ::getpid();
        contact.host = records::journal::host_name();
        entries_.push_back(net::contact::register_manager(folder_, contact).or_throw());
    }

  private:
    std::string folder_ = testing::TempDir() + "registry-XXXXXX";
    std::vector<std::unique_ptr<net::contact::Registration>> entries_;
};

TEST(ManagerCalls, ANameThatNobodyHasIsToldThoseThatAreListed) {
    Registry registry;
    WorkerProgramOptions options;
    options.manager_regex = "align";
    ManagerCalls calls = ManagerCalls::of(options).or_throw();
    const auto refusal = [&] { return calls.begin(wq::worker::Whom::any).error().message; };
    EXPECT_THAT(refusal(), EndsWith("has a whole name that matches 'align'"));
    for (const char* name : {"align-2", "align-1", "align-1"}) registry.list(name);
    EXPECT_THAT(refusal(), EndsWith("'align'; listed: align-1, align-2"));
    for (int i = 3; i < 9; ++i) registry.list("align-" + std::to_string(i));
    EXPECT_THAT(refusal(), EndsWith("listed: align-1, align-2, align-3, align-4, align-5, and 3 more"));
}

TEST(ManagerCalls, OthersAreLeftUntilEachWasCalledAsOften) {
    Registry registry;
    for (const char* name : {"align-1", "align-2", "align-3"}) registry.list(name);
    WorkerProgramOptions options;
    options.manager_regex = "align-.";
    ManagerCalls calls = ManagerCalls::of(options).or_throw();
    for (int round = 0; round < 2; ++round) {
        std::set<std::string> called;
        for (const bool left : {true, true, false}) {
            const auto call = calls.begin(wq::worker::Whom::any).or_throw();
            EXPECT_TRUE(called.insert(call.name()).second);
            EXPECT_EQ(call.others_left(), left);
        }
    }
}

TEST(ManagerCalls, ARequiredKeyIsRequiredByAddressToo) {
    WorkerProgramOptions options;
    options.managers = {{"127.0.0.1", 1}};
    options.require_key = true;
    ManagerCalls calls = ManagerCalls::of(options).or_throw();
    EXPECT_EQ(calls.begin(wq::worker::Whom::any).error().code, ExitCode::not_allowed);
    options.ssl = true;
    EXPECT_EQ(calls.begin(wq::worker::Whom::any).error().code, ExitCode::not_allowed);
    options.ssl_ca = "authority.pem";
    const auto call = calls.begin(wq::worker::Whom::any);
    EXPECT_TRUE(call || call.error().code != ExitCode::not_allowed);
}

}  // namespace
}  // namespace wq::programs::worker
