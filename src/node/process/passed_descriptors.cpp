#include "node/process/passed_descriptors.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace wq::node::process {

namespace {

struct Ancillary {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_at_once)> bytes;
};

}  // namespace

bool send_descriptors(int socket, std::span<const std::byte> bytes, std::span<const int> files, int flags) {
    Ancillary ancillary;
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        message.msg_control = ancillary.bytes.data();
        message.msg_controllen = CMSG_SPACE(files.size_bytes());
        std::memset(ancillary.bytes.data(), 0, message.msg_controllen);
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(files.size_bytes());
        std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    ssize_t sent = 0;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

ssize_t receive_descriptors(int socket, std::span<std::byte> bytes, std::vector<Descriptor>& files,
                            int flags) {
    Ancillary ancillary;
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = ancillary.bytes.size();
    ssize_t got = 0;
    do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return got;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t at = 0; at < count; ++at) {
            int file = -1;
            std::memcpy(&file, CMSG_DATA(header) + at * sizeof file, sizeof file);
            files.emplace_back(file);
        }
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0) {
        errno = EMFILE;
        return -1;
    }
    return got;
}

}  // namespace wq::node::process
