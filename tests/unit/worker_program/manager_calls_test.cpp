#include "worker_program/manager_calls.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "listening/registry.h"
#include "records/run_status.h"

namespace wq::worker_program {
namespace {

using ::testing::EndsWith;

TEST(ManagerCalls, ANameThatNobodyHasIsToldThoseThatAreListed) {
    std::string folder = testing::TempDir() + "registry-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    ::setenv("WORK_QUEUE_REGISTRY", folder.c_str(), 1);
    WorkerProgramOptions options;
    options.manager_regex = "align";
    ManagerCalls calls = ManagerCalls::of(options).or_throw();
    const auto refusal = [&] { return calls.begin(false).error().message; };
    EXPECT_THAT(refusal(), EndsWith("has a whole name that matches 'align'"));

    std::vector<std::unique_ptr<listening::Registration>> entries;
    const auto list = [&](const std::string& name) {
        net::Contact contact;
        contact.addresses = {"127.0.0.1"};
        contact.port = static_cast<std::uint16_t>(9000 + entries.size());
        contact.name = name;
        contact.pid = ::getpid();
        contact.host = records::host_name();
        entries.push_back(listening::register_manager(folder, contact).or_throw());
    };
    for (const char* name : {"align-2", "align-1", "align-1"}) list(name);
    EXPECT_THAT(refusal(), EndsWith("'align'; listed: align-1, align-2"));
    for (int i = 3; i < 9; ++i) list("align-" + std::to_string(i));
    EXPECT_THAT(refusal(), EndsWith("listed: align-1, align-2, align-3, align-4, align-5, and 3 more"));

    entries.clear();
    ::unsetenv("WORK_QUEUE_REGISTRY");
    std::filesystem::remove_all(folder);
}

TEST(ManagerCalls, ARequiredKeyIsRequiredByAddressToo) {
    WorkerProgramOptions options;
    options.managers = {{"127.0.0.1", 1}};
    options.require_key = true;
    ManagerCalls calls = ManagerCalls::of(options).or_throw();
    EXPECT_EQ(calls.begin(false).error().code, ExitCode::not_allowed);
    options.ssl = true;
    EXPECT_EQ(calls.begin(false).error().code, ExitCode::not_allowed);
    options.ssl_ca = "authority.pem";
    const auto call = calls.begin(false);
    EXPECT_TRUE(call || call.error().code != ExitCode::not_allowed);
}

}  // namespace
}  // namespace wq::worker_program
