// The order of a Python call, and what a process says that runs calls: any bytes are read or rejected, and
// its usage can be added up.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "node/calls/call_process.h"
#include "node/calls/python_call.h"
#include "require.h"

namespace {

using wq::Descriptor;
using wq::fuzz::require;
using namespace wq::node::calls;

void check_order(std::string_view bytes) {
    const auto call = python_call(bytes);
    if (!call) return;
    const std::string lines = call->version + "\n" + call->executable + "\n" + call->environment + "\n" +
                              (call->direct ? "direct" : "fork") + "\n";
    require(bytes.starts_with(lines), "its lines are as they came");
    require(python_call(lines).has_value(), "they are enough");
}

Descriptor memory() {
    return Descriptor(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

std::unique_ptr<Request> request() {
    auto request = std::make_unique<Request>();
    request->shared = true;
    request->arguments = memory();
    request->result = memory();
    request->out = memory();
    request->err = memory();
    return request;
}

// Each line is a message.
void check_process(std::string_view lines) {
    std::array<int, 2> ends{-1, -1};
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "there are sockets");
    CallProcess process(1, Descriptor(ends[0]));
    Descriptor other(ends[1]);
    for (int calls = 0; calls < 8 && !lines.empty(); ++calls) {
        auto next = request();
        if (process.idle()) require(process.give(next) == CallProcess::Given::yes, "it takes a call");
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        send(other.get(), lines.data(), end, MSG_DONTWAIT);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        const auto told = process.receive();
        if (told) process.forget_request();
        rusage usage{};
        process.subtract_told(usage);
    }
    other.reset();
    require(!process.receive(), "it is gone");
    require(!process.idle(), "and gets no call");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check_order(bytes);
    check_process(bytes);
    return 0;
}
