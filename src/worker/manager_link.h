// A worker's link to its manager. A TCP worker has one link after the other, to the same manager or to
// another one; the token in the welcome tells which. Answers that the manager has not acknowledged are kept,
// and sent again on the next link.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "net/frames/transport.h"
#include "net/messages/messages.h"
#include "net/session/outbox.h"
#include "node/launcher/launcher.h"

namespace wq::worker {

// Keeps the answers of a TCP worker that its manager has not acknowledged. After a reconnect they are sent
// again from the position that the manager names. Positions count from the first answer to this manager.
class AnswerLog {
  public:
    using Key = std::pair<TaskId, Attempt>;
    struct Answer {
        std::string message;     // encoded
        std::optional<Key> key;  // none if it is about many tasks
    };

    void add(std::string message, std::optional<Key> key) {
        kept_.push_back({std::move(message), key});
        ++sent_;
    }
    // The manager has received the first `answers` answers.
    void forget(std::uint64_t answers) {
        while (!kept_.empty() && answers > sent_ - kept_.size()) kept_.pop_front();
    }
    std::uint64_t sent() const { return sent_; }
    const std::deque<Answer>& kept() const { return kept_; }

  private:
    std::deque<Answer> kept_;
    std::uint64_t sent_ = 0;
};

class ManagerLink {
  public:
    using Key = AnswerLog::Key;

    // `identity`: of a TCP worker; empty: a rank's. `outbox`: none while there is no link.
    ManagerLink(std::string identity, std::optional<net::session::Outbox> outbox)
        : identity_(std::move(identity)), outbox_(std::move(outbox)) {}

    bool over_tcp() const { return !identity_.empty(); }

    void connect(net::frames::Transport& transport, net::frames::PeerId manager);
    void disconnect();
    // Sends hello. `held`: tasks whose end has not been answered.
    void greet(net::messages::Hello hello, std::vector<Key> held);

    void send_message(const net::messages::Message& message);
    void send_if_welcomed(const net::messages::Message& message);  // over TCP not before the welcome
    // Sends an answer, which managers count. A TCP worker keeps it until it is acknowledged. `key`: none if
    // it is about many tasks.
    void answer(const net::messages::Message& message, std::optional<Key> key);
    net::session::Outbox& outbox() { return *outbox_; }
    bool flush();  // returns whether there was anything to send

    void on(const net::messages::Acknowledged& message) { answers_.forget(message.answers); }
    void on(const net::messages::Refused& message) { refused_ = message; }
    void on(const net::messages::Dismiss& message) { dismissed_ = message; }
    void note_malformed() { malformed_ = true; }
    // The manager's last message on this link; the link must then be closed.
    const std::optional<net::messages::Refused>& refused() const { return refused_; }
    const std::optional<net::messages::Dismiss>& dismissed() const { return dismissed_; }
    bool malformed() const { return malformed_; }  // the manager sent bytes that are not a message

    // Whether we have a manager and the one that answers does not know us: it is another one, or was
    // restarted.
    bool has_forgotten_us(const net::messages::Welcome& message);
    bool take_forgotten() { return std::exchange(forgotten_, false); }  // true once
    void welcome(const net::messages::Welcome& message);
    void resend_answers(std::uint64_t received);  // all but those that the manager has received
    void forget_manager();
    void send_goodbye(const net::messages::Goodbye& last);
    // What outlives this process tells the manager; nullopt: it waits for nobody.
    std::optional<net::messages::LastWords> last_words() const;
    const std::string& token() const { return token_; }  // changes with each session; empty: none

    bool welcomed() const { return welcomed_; }  // on this link
    bool has_manager() const { return !token_.empty(); }
    bool expected() const { return expected_; }  // a manager may have leased us tasks
    Duration grace() const { return grace_; }    // counts from when the manager was last heard
    bool all_acknowledged() const { return answers_.kept().empty(); }
    // Whether all answers have arrived, and no lease can be on its way to us.
    bool settled() const { return !over_tcp() || !expected_ || (welcomed_ && all_acknowledged()); }

  private:
    std::string identity_;
    std::optional<net::session::Outbox> outbox_;
    AnswerLog answers_;
    std::string token_;  // from the manager's welcome; empty: not welcomed yet
    Duration grace_{0};
    bool welcomed_ = false;
    bool expected_ = false;
    bool malformed_ = false;
    bool forgotten_ = false;
    std::optional<net::messages::Refused> refused_;
    std::optional<net::messages::Dismiss> dismissed_;
};

// Whether this worker sees what the manager has: each mark is a text that it finds at a path only if so.
// In a file: the manager's files are ours, too.
bool sees_file(const std::string& path, const std::string& mark);
// In a memory of the manager's process: we can map its other memories. Not so on another host, in another PID
// namespace, or as another user.
bool sees_memory(const std::string& path, const std::string& mark);

// The tasks that a worker holds: it has accepted them, and not yet told the manager how they ended.
class HeldTasks {
  public:
    using Key = std::pair<TaskId, Attempt>;

    explicit HeldTasks(ManagerLink& link) : link_(link) {}

    enum class By : std::uint8_t { lease, ticket };  // ticket: it was claimed
    // False: it holds the task already.
    bool add(Key key, By by) { return tasks_.emplace(key, by).second; }
    // What is in files is sent as far as a message can hold it.
    void answer_end(node::launcher::TaskEnded& end);
    void answer_loss(Key key, const std::string& why);  // with its launcher or workspace
    void give_back(Key key);                            // it has not started
    void clear() { tasks_.clear(); }                    // without answers

    const std::map<Key, By>& all() const { return tasks_; }
    std::vector<Key> keys() const;
    bool contains(const Key& key) const { return tasks_.contains(key); }
    std::size_t size() const { return tasks_.size(); }

  private:
    bool take(const Key& key);

    ManagerLink& link_;
    std::map<Key, By> tasks_;
};

}  // namespace wq::worker
