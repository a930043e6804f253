// A real sshd on loopback with its own port, keys and configuration, for one test process. It runs as the
// present user, who logs in by a key of the test's.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.h"

namespace wq::test {

class SshServer {
  public:
    // `more`: further lines of sshd_config.
    explicit SshServer(const std::string& more = "") {
        const std::string sshd = path_of("sshd");
        if (sshd.empty() || path_of("ssh-keygen").empty() || path_of("ssh").empty()) {
            problem_ = "no sshd, ssh or ssh-keygen (Debian: openssh-server, openssh-client)";
            return;
        }
        std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
        for (const char* key : {"host_key", "user_key"})
            if (run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder_ / key}) != 0)
                problem_ = "ssh-keygen failed";
        if (geteuid() == 0) std::filesystem::create_directories("/run/sshd");
        std::filesystem::copy_file(folder_ / "user_key.pub", folder_ / "authorized_keys");
        for (int i = 0; i < 20 && problem_.empty() && pid_ <= 0; ++i) try_start(sshd, more);
        if (pid_ <= 0 && problem_.empty()) problem_ = "sshd does not start: " + read_file(folder_ / "log");
        write_client_config("client", folder_ / "user_key");
    }
    ~SshServer() { stop(); }
    SshServer(const SshServer&) = delete;
    SshServer& operator=(const SshServer&) = delete;

    // Why it does not run; "": it does.
    const std::string& problem() const { return problem_; }

    // The value of RUNTASK_SSH.
    std::string command() const { return "ssh -F " + (folder_ / "client"); }
    std::vector<std::string> words() const { return {"ssh", "-F", folder_ / "client"}; }
    // HOST in HOST:FILE.
    static std::string host() { return "wq-test-master"; }

    int port() const { return port_; }
    std::string folder() const { return folder_.path(); }
    std::string log() const { return read_file(folder_ / "log"); }

    // Processes of the sessions: of each connection, sshd and below it what it runs.
    std::vector<pid_t> sessions() const { return children_of(pid_); }

    // Ends sshd and, as a master that fails would, all connections.
    void stop() {
        if (pid_ <= 0) return;
        for (const pid_t session : sessions()) kill_tree(session);
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    static std::vector<pid_t> children_of(pid_t parent) {
        std::vector<pid_t> found;
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
            const std::string name = entry.path().filename();
            if (name.find_first_not_of("0123456789") != std::string::npos) continue;
            const std::string stat = read_file(entry.path() / "stat");
            const std::size_t end = stat.rfind(')');  // the command may have blanks
            if (end == std::string::npos || end + 4 > stat.size()) continue;
            if (std::atoi(stat.c_str() + end + 4) == parent) found.push_back(std::atoi(name.c_str()));
        }
        return found;
    }
    static void kill_tree(pid_t root) {
        for (const pid_t child : children_of(root)) kill_tree(child);
        kill(root, SIGKILL);
    }

    // A client's configuration `name` in the folder, with another key or further lines.
    void write_client_config(const std::string& name, const std::string& key,
                             const std::string& more = "") const {
        write_file(
            folder_ / name,
            "Host " + host() + "\n  HostName 127.0.0.1\n  Port " + std::to_string(port_) +
                "\n  IdentityFile " + key +
                "\n  IdentitiesOnly yes\n  IdentityAgent none\n  StrictHostKeyChecking no\n"
                "  UserKnownHostsFile /dev/null\n  GlobalKnownHostsFile /dev/null\n  LogLevel ERROR\n" +
                more);
    }

  private:
    static std::string path_of(const std::string& program) {
        const char* told = std::getenv("PATH");
        std::string rest = std::string(told == nullptr ? "" : told) + ":/usr/sbin:/sbin:/usr/local/sbin:";
        for (std::size_t end; (end = rest.find(':')) != std::string::npos; rest.erase(0, end + 1)) {
            const std::string path = rest.substr(0, end) + "/" + program;
            if (end > 0 && access(path.c_str(), X_OK) == 0) return path;
        }
        return {};
    }

    static pid_t start(const std::vector<std::string>& words) {
        std::vector<char*> arguments;
        for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        pid_t pid = -1;
        return posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0 ? pid : -1;
    }
    static int run(const std::vector<std::string>& words) {
        int status = -1;
        const pid_t pid = start(words);
        return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
    }

    // A port that is free now; another test may be faster, then sshd ends and the next one is tried.
    static int free_port() {
        const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                           getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
        close(probe);
        return bound ? ntohs(address.sin_port) : 0;
    }

    void try_start(const std::string& sshd, const std::string& more) {
        port_ = free_port();
        const passwd* user = getpwuid(geteuid());
        // HOME: a login shell runs the user's start-up files, and one that locks a file and is killed delays
        // all others by a minute.
        write_file(folder_ / "config",
                   "ListenAddress 127.0.0.1\nPort " + std::to_string(port_) + "\nHostKey " +
                       (folder_ / "host_key") + "\nAuthorizedKeysFile " + (folder_ / "authorized_keys") +
                       "\nPidFile none\nUsePAM no\nPasswordAuthentication no\n"
                       "KbdInteractiveAuthentication no\nPubkeyAuthentication yes\nStrictModes no\n"
                       "PermitRootLogin prohibit-password\nMaxStartups 100:30:200\nMaxSessions 100\n"
                       "AcceptEnv none\nUseDNS no\nPrintMotd no\nSetEnv HOME=" +
                       folder_.path() + "\nAllowUsers " + (user != nullptr ? user->pw_name : "*") + "\n" +
                       more);
        std::vector<std::string> words{sshd, "-D", "-E", folder_ / "log", "-f", folder_ / "config"};
        // Also if the test is killed.
        if (!path_of("setpriv").empty()) words.insert(words.begin(), {"setpriv", "--pdeathsig", "KILL"});
        const pid_t pid = start(words);
        if (pid <= 0) return;
        while (waitpid(pid, nullptr, WNOHANG) == 0) {
            if (read_file(folder_ / "log").find("Server listening") != std::string::npos) {
                pid_ = pid;
                return;
            }
            poll(nullptr, 0, 5);
        }
    }

    Folder folder_;
    std::string problem_;
    int port_ = 0;
    pid_t pid_ = -1;
};

}  // namespace wq::test
