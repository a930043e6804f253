#include "net/frames/tcp_engine.h"

#include <sched.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/signals.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

namespace {

constexpr std::size_t buffer_bytes = 256u << 10;

// Those who ask in plain text, at once: each may hold 64 KiB here, and 256 KiB of the kernel's memory.
constexpr std::size_t most_askers = 128;

// If we look later than this, we may have been paused, and the peer's frames may not have arrived yet.
constexpr Duration most_late_look = std::chrono::milliseconds(250);

// Often enough for the shortest timeout; once a second is enough for everything else.
Duration tick_for(const TcpLinkPlan& plan) {
    const TcpLimits& limits = plan.limits;
    Duration shortest =
        std::min({limits.keep_alive, limits.silence, limits.handshake, limits.stalled, limits.linger});
    if (plan.connect > Duration{0}) shortest = std::min(shortest, plan.connect);
    return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(1), std::chrono::seconds(1));
}

}  // namespace

Error cannot_begin(const std::exception& why) {
    return {ExitCode::unreachable, std::string("cannot connect: ") + why.what() +
                                       "; raise 'ulimit -n' (open files) or 'ulimit -u' (threads)"};
}

TcpEngine::TcpEngine(TcpLinkPlan plan, TcpEngineUser& user)
    : plan_(std::move(plan)),
      user_(user),
      mailbox_([this] { boost::asio::post(context_, [this] { carry_out_orders(); }); }),
      buffer_(buffer_bytes),
      budget_(plan_.limits.most_half_received_bytes),
      tick_every_(tick_for(plan_)) {}

TcpEngine::~TcpEngine() {
    stop();
}

void TcpEngine::start(std::function<void()> first) {
    boost::asio::post(context_, std::move(first));
    const SignalsHeld held;
    thread_ = std::thread([this] { run(); });
}

void TcpEngine::run() noexcept {
    const auto guard = boost::asio::make_work_guard(context_);
    while (!context_.stopped()) try {
            run_turn();
        } catch (const std::exception& error) {
            user_.on_trouble(error.what());
        }
}

// While frames are expected soon it polls: waking up takes longer than they take to arrive.
void TcpEngine::run_turn() {
    if (!mailbox_.expects(instant_now()))
        context_.run_one();
    else if (context_.poll() == 0)
        ::sched_yield();
}

void TcpEngine::stop() {
    if (!thread_.joinable()) return;
    boost::asio::post(context_, [this] {
        try {
            send_goodbyes();
        } catch (const std::exception&) {  // then without a report
            links_.clear();
            context_.stop();
        }
    });
    thread_.join();
}

void TcpEngine::send_goodbyes() {
    carry_out_orders();
    stopping_ = true;
    user_.on_stop();
    std::vector<std::shared_ptr<TcpLink>> links;
    for (const auto& [serial, member] : links_) links.push_back(member.link);
    for (const auto& link : links) link->guarded([&] { link->close(); });
    timer_.expires_after(plan_.limits.goodbye);
    timer_.async_wait([this, links](const boost::system::error_code& error) {
        if (error) return;
        for (const auto& link : links)
            link->guarded([&] { link->end({ExitCode::unreachable, "this end has no time left"}); });
        context_.stop();
    });
    finish_if_done();
}

void TcpEngine::finish_if_done() {
    if (stopping_ && links_.empty()) context_.stop();
}

// ---- links ----

TcpLink& TcpEngine::add(int descriptor, std::string address) {
    const std::uint64_t serial = next_serial_++;
    Descriptor owned(descriptor);
    auto link = std::make_shared<TcpLink>(context_, descriptor, serial, std::move(address), plan_, *this);
    owned.release();
    TcpLink& added = *link;
    links_.emplace(serial, Member{std::move(link), std::nullopt});
    unfinished_.emplace(serial, &added);
    if (!ticking_) await_tick();
    return added;
}

// Links read the plan themselves; only the tick must follow the shortest timeout.
void TcpEngine::set_silence(Duration silence) {
    plan_.limits.silence = silence;
    tick_every_ = tick_for(plan_);
    if (ticking_ && !stopping_) await_tick();
}

// Peers that know the new key are welcome again, so none is told that its key is wrong.
void TcpEngine::set_key(std::string key) {
    if (key == plan_.key) return;
    plan_.key = std::move(key);
    std::vector<std::shared_ptr<TcpLink>> links;
    for (const auto& [serial, member] : links_) links.push_back(member.link);
    const std::string why = "the manager's password was set";
    for (const auto& link : links)
        link->guarded([&] { link->drop({ExitCode::unreachable, why}, "busy: " + why + "; try again"); });
}

void TcpEngine::set_plain_refusal(std::string why) {
    plan_.plain_refusal = std::move(why);
    if (plan_.plain_refusal.empty()) return;
    std::vector<std::shared_ptr<TcpLink>> links;
    for (const auto& [serial, link] : askers_) links.push_back(link->shared_from_this());
    for (const auto& link : links)
        link->guarded([&] { link->drop({ExitCode::unreachable, "it may not ask any more"}, {}); });
}

TcpLink* TcpEngine::oldest_unfinished() {
    return unfinished_.empty() ? nullptr : unfinished_.begin()->second;
}

void TcpEngine::join(TcpLink& link, PeerId peer) {
    deliver_joined(link, {peer, link.address()});
    links_.at(link.serial()).close_by = is_within_machine(link.descriptor());
}

void TcpEngine::join_asker(TcpLink& link, PeerId peer, std::string question) {
    if (askers_.size() >= most_askers) drop_an_asker();
    askers_.emplace(link.serial(), &link);
    deliver_joined(link, {peer, link.address(), true});
    mailbox_.deliver(Frame{peer, std::move(question)});
}

// All or nothing: a caller that sees Joined must later see Left.
void TcpEngine::deliver_joined(TcpLink& link, Joined joined) {
    const PeerId peer = joined.peer;
    Member& member = links_.at(link.serial());
    member.untold = {peer};
    peers_[peer] = link.serial();
    try {
        mailbox_.deliver(std::move(joined));
    } catch (...) {
        peers_.erase(peer);
        throw;
    }
    member.peer = peer;
}

// Who does not read goes first, then who came first.
void TcpEngine::drop_an_asker() {
    const auto first = std::min_element(askers_.begin(), askers_.end(), [](const auto& a, const auto& b) {
        return a.second->writer().waits_since().value_or(Instant::max()) <
               b.second->writer().waits_since().value_or(Instant::max());
    });
    const std::shared_ptr<TcpLink> link = first->second->shared_from_this();
    link->guarded([&] { link->drop({ExitCode::unreachable, "too many others ask, too"}, {}); });
}

void TcpEngine::close_others(const TcpLink& link) {
    std::vector<std::shared_ptr<TcpLink>> others;
    for (const auto& [serial, member] : links_)
        if (member.link.get() != &link) others.push_back(member.link);
    for (const auto& other : others) other->guarded([&] { other->close(); });
}

void TcpEngine::on_ready(TcpLink& link) {
    unfinished_.erase(link.serial());
    user_.on_ready(link);
}

bool TcpEngine::on_frames(TcpLink& link, std::vector<std::string>& frames) {
    Member& member = links_.at(link.serial());
    if (!member.peer) {
        frames.clear();
        return true;
    }
    const std::size_t bytes = cost_of(frames);
    const std::uint64_t takes = mailbox_.deliver(*member.peer, frames, member.close_by);
    if (takes != member.takes) member.undelivered = 0;  // the caller took everything in between
    member.takes = takes;
    member.undelivered += bytes;
    if (member.held_back) return false;
    if (member.undelivered <= plan_.limits.most_undelivered_bytes &&
        mailbox_.undelivered() <= plan_.limits.most_undelivered_bytes_of_all)
        return true;
    paused_.push_back(link.serial());
    mailbox_.wake_when_taken();
    return false;
}

void TcpEngine::on_question(TcpLink& link, std::string question) {
    user_.on_question(link, std::move(question));
}

// Empty, which no frame is: the caller may send more.
void TcpEngine::on_answer_taken(TcpLink& link) {
    if (const auto peer = links_.at(link.serial()).peer) mailbox_.deliver(Frame{*peer, {}});
}

void TcpEngine::resume_paused() {
    if (paused_.empty() || mailbox_.awaits_taking()) return;
    std::vector<std::uint64_t> paused;
    paused.swap(paused_);
    for (const std::uint64_t serial : paused)
        if (const auto found = links_.find(serial); found != links_.end()) {
            const std::shared_ptr<TcpLink> link = found->second.link;
            link->guarded([&] { link->resume(TcpLink::for_frames); });
        }
}

bool TcpEngine::on_begun(TcpLink& link, std::size_t memory, std::size_t received) {
    if (memory > 0) return budget_.begun(link.serial(), memory, received);
    budget_.ended(link.serial());
    release_held_back();
    return true;
}

void TcpEngine::release_held_back() noexcept {
    while (const auto serial = budget_.next_released())
        if (const auto found = links_.find(*serial); found != links_.end()) {
            const std::shared_ptr<TcpLink> link = found->second.link;
            link->guarded([&] { link->resume(TcpLink::for_memory); });
        }
}

std::span<char> TcpEngine::read_buffer() {
    return std::span(buffer_).first(budget_.spent() ? FrameBudget::small : buffer_bytes);
}

void TcpEngine::on_end(TcpLink& link, const Error& why) {
    Member& member = links_.at(link.serial());
    user_.on_end(link, member.peer, why);  // before the caller can ask for the reason
    if (!member.peer) return;
    mailbox_.deliver(Left{*member.peer, why.message, link.closed_by_peer()});
    peers_.erase(*member.peer);
    member.peer.reset();
}

void TcpEngine::on_gone(TcpLink& link) noexcept {
    const auto found = links_.find(link.serial());
    if (found != links_.end() && found->second.peer) {
        peers_.erase(*found->second.peer);
        untold_.splice(untold_.end(), found->second.untold);
    }
    unfinished_.erase(link.serial());
    askers_.erase(link.serial());
    links_.erase(link.serial());
    budget_.ended(link.serial());
    release_held_back();
    finish_if_done();
}

void TcpEngine::deliver_untold() {
    for (; !untold_.empty(); untold_.pop_front()) mailbox_.deliver(Left{untold_.front(), "out of memory"});
}

// ---- the caller's orders ----

// An exception loses no order: the rest is handled next time, at the latest at the next tick.
void TcpEngine::carry_out_orders() {
    if (stopping_) return;
    resume_paused();
    finish_orders();
    mailbox_.take_orders(orders_);  // this call replaces their wake-up
    finish_orders();
}

void TcpEngine::finish_orders() {
    for (; carried_out_ < orders_.size(); ++carried_out_) carry_out(orders_[carried_out_]);
    for (const TcpOrder& order : orders_)
        if (order.what == TcpOrder::What::send) flush(order.peer);
    orders_.clear();
    carried_out_ = 0;
}

void TcpEngine::flush(PeerId peer) {
    const auto found = peers_.find(peer);
    if (found == peers_.end()) return;
    const std::shared_ptr<TcpLink> link = links_.at(found->second).link;
    if (link->writer().unsent()) link->guarded([&] { link->flush(); });
}

void TcpEngine::close(PeerId peer) {
    if (const auto found = peers_.find(peer); found != peers_.end()) {
        Member& member = links_.at(found->second);
        member.peer.reset();
        peers_.erase(found);
        const std::shared_ptr<TcpLink> link = member.link;
        link->guarded([&] { link->close(); });
    }
    untold_.remove(peer);
    mailbox_.closed(peer);
}

void TcpEngine::carry_out(TcpOrder& order) {
    if (order.what == TcpOrder::What::close) return close(order.peer);
    const auto found = peers_.find(order.peer);
    const bool sends = order.what == TcpOrder::What::send;
    if (found == peers_.end()) return sends ? on_left(order.frame.size()) : void();
    Member& member = links_.at(found->second);
    const std::shared_ptr<TcpLink> link = member.link;
    if (sends) return link->send(std::move(order.frame));
    if (order.what == TcpOrder::What::admit) return link->admit();
    member.held_back = order.what == TcpOrder::What::hold_back;
    if (!member.held_back) link->guarded([&] { link->resume(TcpLink::for_frames); });
}

// ---- time ----

void TcpEngine::await_tick() {
    ticking_ = true;
    last_tick_ = instant_now();
    timer_.expires_after(tick_every_);
    timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error && !stopping_) tick();
    });
}

void TcpEngine::tick() {
    const Instant now = instant_now();
    // A suspended machine or a stopped process has not listened meanwhile.
    const Duration late = now - last_tick_ - tick_every_;
    ticking_ = false;
    if (links_.empty() && untold_.empty()) return;
    await_tick();  // first, so that ticks continue after an exception below
    deliver_untold();
    carry_out_orders();
    const bool stood_still = late > std::max<Duration>(plan_.limits.silence / 4, 4 * tick_every_);
    std::vector<std::shared_ptr<TcpLink>> links;
    links.reserve(links_.size());
    for (const auto& [serial, member] : links_) links.push_back(member.link);
    for (const auto& link : links) {
        if (stood_still) link->forgive(late);
        if (late < most_late_look) user_.on_tick(*link);
        link->guarded([&] { link->tick(now); });
    }
    if (stood_still) budget_.look_anew();
    if (const auto slow = budget_.find_slow(now)) {
        const std::shared_ptr<TcpLink> link = links_.at(*slow).link;
        link->guarded([&] {
            link->end({ExitCode::unreachable, "its frame arrives too slowly for the memory that it needs"});
        });
    }
    release_held_back();
}

}  // namespace wq::net::frames
