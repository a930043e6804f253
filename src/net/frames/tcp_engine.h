// The socket thread of both ends of TCP. It owns the links, moves frames between them and the mailbox, and
// checks their timeouts. It never accesses a file.
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

#include "net/frames/frame_budget.h"
#include "net/frames/tcp_link.h"
#include "net/frames/tcp_mailbox.h"

namespace wq::net::frames {

// The owner of an engine; called on its thread.
class TcpEngineUser {
  public:
    virtual ~TcpEngineUser() = default;
    virtual void on_ready(TcpLink& link) = 0;
    // `peer`: set if the link had join()ed; its Left is already delivered.
    virtual void on_end(TcpLink& link, std::optional<PeerId> peer, const Error& why) = 0;
    // It asks in plain text: join_asker() lets it. By default, nobody does.
    // NOLINTNEXTLINE(performance-unnecessary-value-param): a listener moves the question on
    virtual void on_question(TcpLink&, std::string) {}
    virtual void on_tick(TcpLink&) {}  // at least once a second, unless that was late
    virtual void on_stop() = 0;        // create no more links
    // An exception that no link caused, such as lack of memory; the engine continues.
    virtual void on_trouble(const std::string& what) noexcept = 0;
};

// The error to return if no engine can be created.
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
    // Owns the descriptor, even if it throws. The caller must still begin the link.
    TcpLink& add(int descriptor, std::string address);
    void join(TcpLink& link, PeerId peer);  // a link after on_ready: delivers Joined
    // A link after on_question: delivers Joined and the question. The link still gives way to others.
    void join_asker(TcpLink& link, PeerId peer, std::string question);
    void close_others(const TcpLink& link);
    void set_silence(Duration silence);
    void set_key(std::string key);            // ends all links with another one
    void set_plain_refusal(std::string why);  // not empty: ends those that ask in plain text
    // Links that are not ready: in a handshake, or refused and about to hear why.
    std::size_t unfinished() const { return unfinished_.size(); }
    TcpLink* oldest_unfinished();

    // ---- TcpLinkOwner ----
    void on_ready(TcpLink& link) override;
    bool on_frames(TcpLink& link, std::vector<std::string>& frames) override;
    bool on_begun(TcpLink& link, std::size_t memory, std::size_t received) override;
    void on_question(TcpLink& link, std::string question) override;
    void on_answer_taken(TcpLink& link) override;
    void on_end(TcpLink& link, const Error& why) override;
    void on_left(std::size_t frame_bytes) override { mailbox_.left(frame_bytes); }
    void on_gone(TcpLink& link) noexcept override;
    std::span<char> read_buffer() override;

  private:
    struct Member {
        std::shared_ptr<TcpLink> link;
        std::optional<PeerId> peer;
        bool close_by = false;
        bool held_back = false;   // by the caller
        std::uint64_t takes = 0;  // the mailbox's count when `undelivered` was computed
        std::size_t undelivered = 0;
        std::list<PeerId> untold{};  // its peer, allocated at join, so that reporting its end needs no memory
    };

    void deliver_joined(TcpLink& link, Joined joined);
    void drop_an_asker();
    void run() noexcept;
    void run_turn();
    void carry_out_orders();
    void finish_orders();
    void carry_out(TcpOrder& order);
    void flush(PeerId peer);
    void close(PeerId peer);
    void resume_paused();
    void release_held_back() noexcept;
    void deliver_untold();
    void tick();
    void await_tick();
    void send_goodbyes();
    void finish_if_done();

    TcpLinkPlan plan_;
    TcpEngineUser& user_;
    boost::asio::io_context context_{1};
    boost::asio::steady_timer timer_{context_};
    TcpMailbox mailbox_;
    std::thread thread_;
    std::vector<char> buffer_;
    std::vector<TcpOrder> orders_;
    std::size_t carried_out_ = 0;  // the executed ones

    std::unordered_map<std::uint64_t, Member> links_;  // by serial number
    std::map<std::uint64_t, TcpLink*> unfinished_;     // of these, oldest first
    std::map<std::uint64_t, TcpLink*> askers_;         // of these, in plain text
    std::unordered_map<PeerId, std::uint64_t> peers_;
    std::vector<std::uint64_t> paused_;
    std::list<PeerId> untold_;  // they are gone, but memory had run out when it was to be reported
    FrameBudget budget_;
    std::uint64_t next_serial_ = 0;
    Duration tick_every_;
    Instant last_tick_{};
    bool ticking_ = false;
    bool stopping_ = false;
};

}  // namespace wq::net::frames
