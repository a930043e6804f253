#include "functions/pool/zygote.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>

#include "node/process/passed_descriptors.h"
#include "support.h"

namespace wq::functions::pool {
namespace {

class ZygoteAlone : public executor_tests::NothingLeft {};

// Far more than sockets take: the program asks for all workers before it reads what became of the first.
TEST_F(ZygoteAlone, ReadsRequestsThoughNobodyReadsItsNews) {
    constexpr std::uint32_t requests = 5000;
    auto link = fork_zygote();
    ASSERT_TRUE(link) << link.error().message;
    Request request;
    for (; request.lane < requests; ++request.lane)
        ASSERT_TRUE(
            node::process::send_descriptors(link->control.get(), node::process::bytes_of_value(request), {}));
    for (std::uint32_t lane = 0; lane < requests; ++lane) {
        ZygoteReport report;
        ASSERT_EQ(recv(link->control.get(), &report, sizeof report, 0), static_cast<ssize_t>(sizeof report));
        ASSERT_EQ(report.lane, lane);
        ASSERT_EQ(report.kind, ZygoteReport::Kind::not_forked);
        ASSERT_EQ(report.value, EMFILE);
    }
    link->control.reset();
    EXPECT_EQ(waitpid(link->child, nullptr, 0), link->child);
}

}  // namespace
}  // namespace wq::functions::pool
