#include "net/frames/tcp_dialer.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "net/frames/tcp_engine.h"
#include "net/frames/tcp_socket.h"

namespace wq::net::frames {

struct TcpResolver::Shared {
    std::mutex mutex;
    std::function<void(std::size_t, Resolved)> answer;  // empty: nobody waits any more

    void pass_answer(std::size_t index, Resolved found) {
        std::lock_guard lock(mutex);
        if (answer) answer(index, std::move(found));
    }
};

TcpResolver::TcpResolver(std::function<void(std::size_t, Resolved)> answer)
    : shared_(std::make_shared<Shared>()) {
    shared_->answer = std::move(answer);
}

TcpResolver::~TcpResolver() {
    std::lock_guard lock(shared_->mutex);
    shared_->answer = nullptr;
}

void TcpResolver::resolve(std::size_t index, const HostPort& from) {
    if (is_numeric(from.host)) return shared_->pass_answer(index, frames::resolve(from));
    try {
        // Signals are blocked in the creating thread, so this one inherits that.
        std::thread([shared = shared_, index, from] {
            try {
                shared->pass_answer(index, frames::resolve(from));
            } catch (const std::exception& error) {
                shared->pass_answer(index, Error{ExitCode::unreachable, error.what()});
            }
        }).detach();
    } catch (const std::system_error& error) {
        shared_->pass_answer(index, Error{ExitCode::unreachable, error.what()});
    }
}

namespace {

// Per manager: more addresses help nobody.
constexpr std::size_t most_dialed_addresses = 256;
constexpr std::size_t most_listed_addresses = 8;  // in a message

struct Runner {
    HostPort from;
    SocketAddress address;
};

}  // namespace

std::string in_one_line(std::string lines) {
    for (std::size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at))
        lines.replace(at, 1, "; ");
    return lines;
}

namespace {

// Why the connection failed. Addresses that refuse with the same words count as one and are reported once.
struct Refusal {
    std::string addresses;
    std::string text;
};

// Address families alternate, so that a broken IPv6 (or IPv4) costs one stagger, not one per address.
void insert_by_turns(std::deque<Runner>& waiting, std::vector<Runner> found) {
    std::vector<Runner> ordered;
    while (!found.empty()) {
        const int last = ordered.empty() ? AF_UNSPEC : ordered.back().address.family();
        auto next = std::find_if(found.begin(), found.end(),
                                 [last](const Runner& each) { return each.address.family() != last; });
        if (next == found.end()) next = found.begin();
        ordered.push_back(std::move(*next));
        found.erase(next);
    }
    for (Runner& runner : ordered) waiting.push_back(std::move(runner));
}

class Dialer final : public TcpDialer, private TcpEngineUser {
  public:
    // `tls`: nullptr: none.
    Dialer(TcpDialOptions options, std::shared_ptr<TlsContext> tls)
        : options_(std::move(options)),
          engine_({Role::worker, options_.key, nullptr, options_.limits, options_.connect}, *this),
          stagger_(engine_.context()),
          resolver_([this](std::size_t index, Resolved found) {
              boost::asio::post(engine_.context(),
                                [this, index, found = std::move(found)] { on_resolved(index, found); });
          }) {
        engine_.plan().tls = std::move(tls);
        engine_.start([this] { begin(); });
    }

    ~Dialer() override { engine_.stop(); }

    void send(PeerId peer, std::string frame) override { engine_.mailbox().send(peer, std::move(frame)); }
    bool poll(std::vector<Arrival>& inbox) override { return engine_.mailbox().take(inbox); }
    void expect_until(Instant until) override { engine_.mailbox().expect_until(until); }
    void close(PeerId peer) override { engine_.mailbox().close(peer); }
    bool idle() const override { return engine_.mailbox().idle(); }
    std::vector<int> descriptors() const override { return {engine_.mailbox().descriptor()}; }

    std::vector<Note> take_notes() override { return notes_.take(); }

    std::optional<Error> failure() const override {
        std::lock_guard lock(mutex_);
        return failure_;
    }

    std::string local_address() const override {
        std::lock_guard lock(mutex_);
        return local_address_;
    }

    Heard last_heard() const override {
        std::lock_guard lock(mutex_);
        return heard_;
    }

    std::string security() const override {
        std::lock_guard lock(mutex_);
        return security_;
    }

  private:
    // ---- the engine's thread ----

    void begin() {
        if (options_.managers.empty())
            return give_up({ExitCode::usage, "the address of the manager is missing"});
        unresolved_ = options_.managers.size();
        for (std::size_t i = 0; i < options_.managers.size(); ++i) resolver_.resolve(i, options_.managers[i]);
    }

    void on_resolved(std::size_t index, const Resolved& found) {
        --unresolved_;
        if (over_) return;
        const HostPort& from = options_.managers[index];
        if (!found)
            record_failure(to_text(from),
                           {found.error().code, "its address is unknown: " + found.error().message});
        std::vector<Runner> fresh;
        if (found)
            for (const SocketAddress& address : *found)
                if (is_new(address)) fresh.push_back({from, address});
        insert_by_turns(waiting_, std::move(fresh));
        if (!staggering_) return start_next();
        see_whether_lost();
    }

    bool is_new(const SocketAddress& address) {
        const auto same = [&](const SocketAddress& other) { return other.same_as(address); };
        if (seen_.size() >= most_dialed_addresses || std::any_of(seen_.begin(), seen_.end(), same))
            return false;
        seen_.push_back(address);
        return true;
    }

    void start_next() {
        while (!over_ && !waiting_.empty()) {
            const Runner runner = std::move(waiting_.front());
            waiting_.pop_front();
            const std::string name = name_of(runner);
            const int descriptor = connect_to(runner.address, options_.limits);
            if (descriptor < 0) {
                record_failure(name, {ExitCode::unreachable, std::system_category().message(errno)});
                continue;
            }
            await_stagger();
            const auto link = engine_.add(descriptor, name).shared_from_this();
            ++running_;
            link->guarded([&] { link->begin_connecting(runner.from.host, instant_now()); });
            return;
        }
        see_whether_lost();
    }

    static std::string name_of(const Runner& runner) {
        const std::string numeric = to_text(runner.address);
        return is_numeric(runner.from.host) ? numeric : runner.from.host + " at " + numeric;
    }

    void await_stagger() {
        staggering_ = true;
        stagger_.expires_after(options_.stagger);
        stagger_.async_wait([this](const boost::system::error_code& error) {
            if (error) return;
            staggering_ = false;
            if (!waiting_.empty()) start_next();
        });
    }

    void on_ready(TcpLink& link) override {
        if (over_) return link.close();
        {
            std::lock_guard lock(mutex_);
            security_ = describe();
            local_address_ = local_address_of(link.descriptor());
            notes_.add_note("tcp", "connected to " + link.address() + " via " + local_address_);
        }
        notes_.add_note("auth", link.address() + " accepted: " + describe());
        note_heard(link);
        engine_.join(link, manager);
        over_ = true;  // not earlier: an exception before this costs one address, and the others continue
        stagger_.cancel();
        engine_.close_others(link);
    }

    void on_tick(TcpLink& link) override {
        if (link.ready() && link.attentive()) note_heard(link);
    }

    void note_heard(TcpLink& link) {
        std::lock_guard lock(mutex_);
        heard_ = {last_arrival(link.descriptor()), instant_now()};
    }

    std::string describe() const {
        std::string text = "no TLS";
        if (options_.tls) {
            text = options_.tls->by == TlsTrust::By::digest    ? "TLS 1.3, certificate checked by its digest"
                   : options_.tls->by == TlsTrust::By::ca_file ? "TLS 1.3, certificate checked by the CA file"
                                                               : "TLS 1.3, certificate not verified";
        }
        return text + (options_.key.empty() ? ", no key" : ", key");
    }

    void on_end(TcpLink& link, std::optional<PeerId> peer, const Error& why) override {
        if (peer) {
            note_heard(link);
            notes_.add_note("tcp", link.address() + " disconnected: " + why.message);
            std::lock_guard lock(mutex_);
            failure_ = why;
            return;
        }
        if (over_) return;
        --running_;
        record_failure(link.address(), why);
        staggering_ = false;
        if (waiting_.empty()) return see_whether_lost();
        // Not called directly: the link is still ending.
        boost::asio::post(engine_.context(), [this] { start_next(); });
    }

    void record_failure(const std::string& address, const Error& why) {
        notes_.add_note(why.code == ExitCode::not_allowed ? "auth" : "tcp", address + ": " + why.message);
        const bool refused = why.code == ExitCode::not_allowed;
        const std::string text =
            why.message.substr(0, why.message.find('\n'));  // the rest goes to the debug log
        const auto same = std::find_if(lines_.begin(), lines_.end(),
                                       [&](const Refusal& line) { return refused && line.text == text; });
        if (same != lines_.end())
            same->addresses += ", " + address;
        else
            lines_.push_back({address, text});
        someone_refused_ = someone_refused_ || refused;
    }

    std::string lines() const {
        const std::size_t listed = std::min(lines_.size(), most_listed_addresses);
        std::string all;
        for (std::size_t n = 0; n < listed; ++n)
            all += (all.empty() ? "" : "\n") + lines_[n].addresses + ": " + lines_[n].text;
        if (listed < lines_.size())
            all += "\nand " + std::to_string(lines_.size() - listed) + " more addresses";
        return all;
    }

    void see_whether_lost() {
        if (over_ || running_ > 0 || unresolved_ > 0 || !waiting_.empty()) return;
        give_up({someone_refused_ ? ExitCode::not_allowed : ExitCode::unreachable, lines()});
    }

    void give_up(const Error& why) {
        {
            std::lock_guard lock(mutex_);
            failure_ = why;
        }
        engine_.mailbox().deliver(Left{manager, why.message});
        over_ = true;
        stagger_.cancel();
    }

    void on_trouble(const std::string& what) noexcept override {
        try {
            if (!over_) give_up({ExitCode::unreachable, "this end failed: " + what});
        } catch (const std::exception&) {
            over_ = true;
        }
    }

    void on_stop() override {
        over_ = true;
        stagger_.cancel();
    }

    const TcpDialOptions options_;
    mutable std::mutex mutex_;
    NoteBook notes_;
    std::optional<Error> failure_;
    std::string security_;
    std::string local_address_;
    Heard heard_{};

    std::size_t unresolved_ = 0;
    std::deque<Runner> waiting_;
    std::vector<SocketAddress> seen_;
    std::size_t running_ = 0;
    bool staggering_ = false;  // the next attempt waits for its time
    bool over_ = false;        // won, lost or stopped
    std::vector<Refusal> lines_;
    bool someone_refused_ = false;

    TcpEngine engine_;
    boost::asio::steady_timer stagger_;
    TcpResolver resolver_;
};

}  // namespace

Result<std::unique_ptr<TcpDialer>> TcpDialer::open(TcpDialOptions options) {
    try {
        std::shared_ptr<TlsContext> tls;
        if (options.tls) tls = TlsContext::of_worker(*options.tls).or_throw();
        return std::unique_ptr<TcpDialer>(new Dialer(std::move(options), std::move(tls)));
    } catch (const Failure& failure) {
        return failure.error;
    } catch (const std::exception& error) {
        return cannot_begin(error);
    }
}

}  // namespace wq::net::frames
