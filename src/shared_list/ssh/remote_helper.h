// The helper at a master (master/*.sh), through one ssh process that is kept for all requests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/file_lock.h"

namespace wq::shared_list::ssh {

// Errors of the connection to a master and of the helper there. Each is one line with the remedy.

// The end of ssh's output to stderr, as part of a message.
std::string end_of_errors(const std::string& errors);

// ssh ended before the master's shell answered. `errors`: what it wrote.
Error no_connection(const std::string& host, const std::string& errors, int exit_code);
// The connection was there, and was lost.
Error lost_connection(const std::string& host, const std::string& errors);
// The master's helper cannot do what it was asked for: `why` is a word and perhaps what a command said.
Error helper_problem(const std::string& host, const std::string& list, const std::string& why,
                     const std::string& errors);

// The words of the variable RUNTASK_SSH ("ssh -F FILE -p 2222"), or "ssh".
std::vector<std::string> ssh_command();

// An ssh process that this one talks to by its standard input and output.
class SshProcess {
  public:
    // Starts it in a separate session, so that Ctrl-C does not end it: the worker must still record the ends
    // of its lines.
    static Result<SshProcess> start(const std::vector<std::string>& words);

    int in() const { return in_.get(); }  // a socket; none of the three blocks
    int out() const { return out_.get(); }
    int errors() const { return errors_.get(); }

    void close_in() { in_.reset(); }
    void close_errors() { errors_.reset(); }
    // Waits for its end, at most so long; then kills it. Returns its exit code (see Child).
    int end(Duration limit);

  private:
    SshProcess() = default;
    Child child_;
    Descriptor in_;
    Descriptor out_;
    Descriptor errors_;
};

enum class OpenMode : std::uint8_t { to_write, to_read };

struct Master {
    std::vector<std::string> ssh;                 // the command, with options
    std::string host;                             // "user@host"
    std::string list;                             // as the user named it
    Duration silence = std::chrono::seconds(60);  // so long without a byte: it hangs
};

// What a helper is told that waits for the lock.
struct Meanwhile {
    std::function<std::string()> signs;  // "SECONDS WORKER=LEASE...": gives them, and waits on for so long
    std::function<void(Instant)> signed_at;  // it has given them, not before this
};

class RemoteHelper {
  public:
    // Connects, and opens the list there. Errors: with the remedy.
    static Result<std::unique_ptr<RemoteHelper>> start(const Master& master, const store::Say& say,
                                                       OpenMode mode = OpenMode::to_write);
    ~RemoteHelper();

    // Sends a request, and returns the words of its answer. Says what it waits for. Error unreachable: the
    // connection is of no use any more; others: the helper could not do it.
    Result<std::string> ask(std::string_view request, const Meanwhile& meanwhile = {});
    // Bytes that follow an answer's words.
    Result<std::string> bytes(std::size_t count);
    Result<std::string> line();

    bool is_usable() const { return process_ != std::nullopt; }
    // Between answers, it is readable once the connection is lost; -1: it was lost before.
    int descriptor() const { return process_ ? process_->out() : -1; }
    // Waits until the helper has ended, and what it held is free.
    void end(Duration limit);

  private:
    RemoteHelper(const Master& master, const store::Say& say, SshProcess process);
    Status send_helper(OpenMode mode);
    Result<std::string> answer(const Meanwhile& meanwhile = {});
    void wait_on(const Meanwhile& meanwhile);
    Result<std::string> whole_line();
    // Sends and receives until `enough` holds. Error: too long without a byte, or the connection is lost.
    Status until(const std::function<bool()>& enough);
    enum class Step { moved, nothing, ended };
    Step step(Instant limit);
    bool receive(int from, std::string& into);
    void drain_errors();  // as far as they have come
    void send();
    void print_waiting();
    Error lost();
    Error hangs();

    Master master_;
    store::Say say_;
    std::optional<SshProcess> process_;
    std::string mark_;  // begins each answer; nothing that a login shell prints has it
    bool answered_ = false;
    std::optional<Instant> waiting_since_;  // for the lock
    std::optional<Instant> signs_sent_;     // while it waits
    bool printed_waiting_ = false;
    std::string outgoing_;
    std::size_t sent_ = 0;
    std::string incoming_;
    std::string errors_;
};

// What the master's login shell, whichever it is, runs to start the helper.
std::string start_command(std::size_t helper_bytes);

// The shell script of master/*.sh, without its comments.
extern const std::string_view master_helper;

}  // namespace wq::shared_list::ssh
