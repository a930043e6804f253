// Creates, inspects and deletes queues.
#include <cerrno>

#include "bindings/c/guard.h"
#include "bindings/c/queue.h"
#include "net/frames/tls_identity.h"

namespace wq::bindings::c {

namespace {

// Programs check errno for the reason.
work_queue* refused(const char* function, const Error& error) {
    complain(function, error.message);
    errno = error.code == ExitCode::unreachable   ? EADDRINUSE
            : error.code == ExitCode::not_allowed ? EACCES
                                                  : EINVAL;
    return nullptr;
}

// Limit of each stream of a task: the manager's maximum, because Work Queue's programs expect a gigabyte.
constexpr std::uint64_t most_output = 1u << 30;

work_queue* create(const char* function, ManagerOptions options) {
    options.output_limit = most_output;
    return guarded(function, static_cast<work_queue*>(nullptr), [&](const char* me) -> work_queue* {
        auto held = api::hold_port(options);
        if (!held) return refused(me, held.error());
        return new work_queue(std::move(options), std::move(*held));
    });
}

}  // namespace

}  // namespace wq::bindings::c

using namespace wq::bindings::c;

work_queue* work_queue_create(int port) {
    wq::ManagerOptions options;
    options.port = port;
    return create(__func__, std::move(options));
}

// Bindings of other languages always call this one, with NULLs for a queue without TLS.
work_queue* work_queue_ssl_create(int port, const char* key, const char* certificate) {
    if (key == nullptr && certificate == nullptr) return work_queue_create(port);
    return guarded(__func__, static_cast<work_queue*>(nullptr), [&](const char* me) -> work_queue* {
        wq::ManagerOptions options;
        options.port = port;
        options.ssl = true;
        options.ssl_key = key == nullptr ? "" : key;
        options.ssl_certificate = certificate == nullptr ? "" : certificate;
        if (options.ssl_key.empty() != options.ssl_certificate.empty())
            return refused(me,
                           {wq::ExitCode::usage, "key and certificate belong together: give both, or none"});
        if (!options.ssl_key.empty())
            if (const auto identity =
                    wq::net::frames::read_identity(options.ssl_key, options.ssl_certificate);
                !identity)
                return refused(me, identity.error());
        return create(me, std::move(options));
    });
}

void work_queue_delete(work_queue* q) {
    if (q == nullptr) return;
    guarded(__func__, [&](const char* me) {
        if (queue_of(me, q) != nullptr) delete q;
    });
}

int work_queue_port(work_queue* q) {
    const work_queue* queue = queue_of(__func__, q);
    return queue == nullptr ? 0 : queue->port();
}

const char* work_queue_name(work_queue* q) {
    const work_queue* queue = queue_of(__func__, q);
    return queue == nullptr || queue->options().name.empty() ? nullptr : queue->options().name.c_str();
}
