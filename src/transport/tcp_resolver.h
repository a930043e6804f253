// Names to addresses, without waiting: each name on a thread of its own, since the resolver may take half a
// minute and cannot be stopped. Who is gone before it answers is not called.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "transport/tcp_options.h"
#include "transport/tcp_socket.h"

namespace wq::transport {

using Resolved = Result<std::vector<SocketAddress>>;

class TcpResolver {
  public:
    // `answer` is called on any thread, once for each resolve(), by its index.
    explicit TcpResolver(std::function<void(std::size_t, Resolved)> answer);
    ~TcpResolver();

    void resolve(std::size_t index, const HostPort& from);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace wq::transport
