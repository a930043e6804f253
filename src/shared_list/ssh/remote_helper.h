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

#include "base/result.h"
#include "base/time.h"
#include "shared_list/ssh/ssh_process.h"
#include "shared_list/store/file_lock.h"

namespace wq::shared_list::ssh {

enum class Opening : std::uint8_t { to_write, to_read };

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
                                                       Opening opening = Opening::to_write);
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
    Status send_helper(Opening opening);
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
    void say_waiting();
    Error lost();
    Error hangs();

    Master master_;
    store::Say say_;
    std::optional<SshProcess> process_;
    std::string mark_;  // begins each answer; nothing that a login shell prints has it
    bool answered_ = false;
    std::optional<Instant> waiting_since_;  // for the lock
    std::optional<Instant> signs_sent_;     // while it waits
    bool said_waiting_ = false;
    std::string outgoing_;
    std::size_t sent_ = 0;
    std::string incoming_;
    std::string errors_;
};

// What the master's login shell, whichever it is, runs to start the helper.
std::string start_command(std::size_t helper_bytes);

}  // namespace wq::shared_list::ssh
