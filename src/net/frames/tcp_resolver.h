// Resolves names without blocking: each name on its own thread, because the resolver may take half a minute
// and cannot be stopped. Answers after the destructor are dropped.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "net/frames/tcp_options.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

using Resolved = Result<std::vector<SocketAddress>>;

class TcpResolver {
  public:
    // `answer` is called on any thread, once for each resolve(), with its index.
    explicit TcpResolver(std::function<void(std::size_t, Resolved)> answer);
    ~TcpResolver();

    void resolve(std::size_t index, const HostPort& from);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace wq::net::frames
