#include "shared_list/ssh/ssh_process.h"

#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <utility>

namespace wq::shared_list::ssh {

namespace {

// A socket to write to: a write to a process that has ended must not raise SIGPIPE.
Pipe open_socket() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

std::vector<std::string> ssh_command() {
    const char* const told = std::getenv("RUNTASK_SSH");
    std::istringstream text(told == nullptr ? "" : told);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) words.emplace_back("ssh");
    return words;
}

Result<SshProcess> SshProcess::start(const std::vector<std::string>& words) {
    SshProcess process;
    Pipe in = open_socket();
    Pipe out = open_pipe();
    Pipe errors = open_pipe();
    int error = in.valid() && out.valid() && errors.valid() ? 0 : errno;
    for (const Descriptor* ours : {&in.write, &out.read, &errors.read})
        if (error == 0 && !set_nonblocking(*ours)) error = errno;
    if (error == 0) {
        process.child_ = Child(words, {.in = in.read.get(),
                                       .out = out.write.get(),
                                       .err = errors.write.get(),
                                       .group = ChildOptions::Group::session});
        error = process.child_.start_error();
    }
    if (error != 0)
        return Error{ExitCode::unreachable,
                     "cannot start " + words[0] + ": " + std::strerror(error) +
                         (error == ENOENT ? "; install an ssh client, or set RUNTASK_SSH to its path" : "")};
    process.in_ = std::move(in.write);
    process.out_ = std::move(out.read);
    process.errors_ = std::move(errors.read);
    return process;
}

int SshProcess::end(Duration limit) {
    if (!child_.running()) return 0;
    in_.reset();
    if (const auto code = child_.wait_until(instant_now() + limit)) return *code;
    child_.signal(SIGKILL);
    return child_.wait();
}

}  // namespace wq::shared_list::ssh
