// The thread of the sockets, which both ends of TCP have: it owns the links, moves frames between them and
// the mailbox, and looks at the clock for them. It never touches a file.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "transport/frame_budget.h"
#include "transport/tcp_link.h"
#include "transport/tcp_mailbox.h"

namespace wq::transport {

// Who has an engine; called on its thread.
class TcpEngineUser {
  public:
    virtual ~TcpEngineUser() = default;
    virtual void on_ready(TcpLink& link) = 0;
    // `peer`: who it was, if it had join()ed; its Left is told already.
    virtual void on_end(TcpLink& link, std::optional<PeerId> peer, const Error& why) = 0;
    virtual void on_tick(TcpLink&) {}  // each second or more often, unless that was late
    virtual void on_stop() = 0;        // make no more links
    // Something was thrown that no link can be blamed for, as where memory has run out; the engine goes on.
    virtual void on_trouble(const std::string& what) noexcept = 0;
};

// Where not even an engine can be made: a value for who asked for it.
Error cannot_begin(const std::exception& why);

class TcpEngine final : public TcpLinkOwner {
  public:
    TcpEngine(TcpLinkPlan plan, TcpEngineUser& user);
    ~TcpEngine() override;

    // ---- the caller's thread ----
    void start(std::function<void()> first);  // `first` runs on the thread
    void stop();  // ends all links, waits for the thread; the user's destructor must call it
    TcpMailbox& mailbox() { return mailbox_; }
    const TcpMailbox& mailbox() const { return mailbox_; }

    // ---- the engine's thread ----
    boost::asio::io_context& context() { return context_; }
    TcpLinkPlan& plan() { return plan_; }
    // Owns the descriptor, also when it throws. The link is still to be begun.
    TcpLink& add(int descriptor, std::string address);
    void join(TcpLink& link, PeerId peer);  // on_ready's link: tells Joined
    void close_others(const TcpLink& link);
    void set_keep_alive(Duration keep_alive, Duration silence);
    // Links that are not, or never became, ready: those that were refused need a moment to hear why.
    std::size_t unfinished() const { return unfinished_.size(); }
    TcpLink* oldest_unfinished();

    // ---- TcpLinkOwner ----
    void on_ready(TcpLink& link) override;
    bool on_frames(TcpLink& link, std::vector<std::string>& frames) override;
    bool on_begun(TcpLink& link, std::size_t memory, std::size_t received) override;
    void on_end(TcpLink& link, const Error& why) override;
    void on_left(std::size_t frame_bytes) override { mailbox_.left(frame_bytes); }
    void on_gone(TcpLink& link) noexcept override;
    std::span<char> read_buffer() override;

  private:
    struct Member {
        std::shared_ptr<TcpLink> link;
        std::optional<PeerId> peer;
        std::uint64_t takes = 0;  // the mailbox's, when `undelivered` was counted
        std::size_t undelivered = 0;
        std::list<PeerId> untold{};  // it, from its join: so its end can be told without memory
    };

    void run() noexcept;
    void heed_orders();
    void finish_orders();
    void heed(TcpOrder& order);
    void flush(PeerId peer);
    void close(PeerId peer);
    void resume_paused();
    void release_held_back() noexcept;
    void tell_untold();
    void tick();
    void await_tick();
    void say_goodbye();
    void finish_if_done();

    TcpLinkPlan plan_;
    TcpEngineUser& user_;
    boost::asio::io_context context_{1};
    boost::asio::steady_timer timer_{context_};
    TcpMailbox mailbox_;
    std::thread thread_;
    std::vector<char> buffer_;
    std::vector<TcpOrder> orders_;
    std::size_t heeded_ = 0;  // of these

    std::unordered_map<std::uint64_t, Member> links_;  // by serial
    std::map<std::uint64_t, TcpLink*> unfinished_;     // of these, the oldest first
    std::unordered_map<PeerId, std::uint64_t> peers_;
    std::vector<std::uint64_t> paused_;
    std::list<PeerId> untold_;  // they are gone, memory had run out to tell it
    FrameBudget budget_;
    std::uint64_t next_serial_ = 0;
    Duration tick_every_;
    Instant last_tick_{};
    bool ticking_ = false;
    bool stopping_ = false;
};

}  // namespace wq::transport
