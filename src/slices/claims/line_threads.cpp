#include "slices/claims/line_threads.h"

#include <poll.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/random_bits.h"
#include "base/signals.h"
#include "base/units.h"

namespace wq::slices::claims {

namespace {

// Commits are sent at least so often: as long as they may be lost with their rank.
constexpr Duration send_every = std::chrono::milliseconds(100);
constexpr Duration print_after = std::chrono::seconds(10);
constexpr Duration shortest_pause = std::chrono::microseconds(50);
constexpr Duration longest_pause = std::chrono::milliseconds(10);

// Until a descriptor is readable, or `until`.
void wait(std::vector<int> descriptors, const Wake& wake, std::optional<Instant> until) {
    descriptors.push_back(wake.descriptor());
    std::vector<pollfd> waits;
    for (const int descriptor : descriptors) waits.push_back({descriptor, POLLIN, 0});
    timespec limit{};
    if (until) {
        const std::int64_t left =
            std::clamp<std::int64_t>((*until - instant_now()).count(), 0, 60'000'000'000);
        limit = {left / 1'000'000'000, left % 1'000'000'000};
    }
    ::ppoll(waits.data(), waits.size(), until ? &limit : nullptr, nullptr);
    if (waits.back().revents != 0) wake.clear();
}

std::vector<net::frames::Arrival> arrivals(net::frames::Transport& line, bool& moved) {
    std::vector<net::frames::Arrival> inbox;
    moved = line.poll(inbox) || moved;
    return inbox;
}

}  // namespace

net::frames::TcpLimits feed_limits() {
    net::frames::TcpLimits limits;
    limits.keep_alive = std::chrono::seconds(1);
    limits.silence = std::chrono::seconds(10);
    limits.most_frame_bytes_before_admit = 4096;
    return limits;
}

net::frames::TcpLimits taker_limits() {
    net::frames::TcpLimits limits = feed_limits();
    limits.silence -= 2 * limits.keep_alive + std::chrono::seconds(1);
    limits.goodbye =
        std::chrono::seconds(2);  // answers that nobody waits for may be in the way of its last commits
    return limits;
}

// ---- a taker ----

Result<std::unique_ptr<TakerLine>> TakerLine::open(net::frames::TcpDialOptions giver,
                                                   ranks::tickets::TicketPool& pool, TakerOptions options) {
    auto line = net::frames::TcpDialer::open(std::move(giver));
    if (!line) return line.error();
    return std::unique_ptr<TakerLine>(new TakerLine(std::move(*line), pool, std::move(options)));
}

TakerLine::TakerLine(std::unique_ptr<net::frames::TcpDialer> line, ranks::tickets::TicketPool& pool,
                     TakerOptions options)
    : taker_(pool, std::move(options), [this] { wake_.set(); }),
      questions_(std::make_shared<Questions>([this] { wake_.set(); })),
      line_(std::move(line)) {
    if (!wake_.valid()) throw Failure{{ExitCode::unreachable, "no descriptor is left"}};
    thread_ = quiet_thread([this] { run(); });
}

Status TakerLine::join(std::optional<Instant> until) {
    if (taker_.join(until)) return success();
    const auto why = taker_.failure();
    return Error{failed_as_, why.value_or("it does not answer")};
}

TakerLine::~TakerLine() {
    over_ = true;
    wake_.set();
    thread_.join();
}

void TakerLine::run() {
    try {
        move_until_over();
    } catch (const std::exception& error) {
        taker_.fail(error.what());
    }
    questions_->fail("its process has left the queue");
    line_.reset();  // it sends what waits, for a moment
}

void TakerLine::on(const net::frames::Arrival& arrival) {
    if (questions_->on(arrival)) return;
    const auto* left = std::get_if<net::frames::Left>(&arrival);
    if (left != nullptr)
        if (const auto why = line_->failure()) failed_as_ = why->code;
    taker_.on(*line_, arrival);
    if (left != nullptr) questions_->fail(left->why);  // once lost() is known
}

void TakerLine::move_until_over() {
    Instant sent_at = instant_now();
    while (!over_) {
        bool moved = false;
        for (const net::frames::Arrival& arrival : arrivals(*line_, moved)) on(arrival);
        questions_->flush(*line_, net::frames::TcpDialer::manager);
        const Instant now = instant_now();
        const bool due = now >= sent_at + send_every;
        if (due) sent_at = now;
        const bool unsent = taker_.flush(*line_, due, now);
        if (!moved)
            wait(line_->descriptors(), wake_, unsent ? std::optional(sent_at + send_every) : std::nullopt);
    }
    taker_.leave(*line_);
}

// ---- the giver ----

GiverLine::GiverLine(GiverLineOptions giver, ranks::tickets::TicketPool& pool, TakerOptions taker)
    : say_(std::move(giver.say)),
      others_(std::move(giver.others)),
      own_(2),
      giver_end_(own_.endpoint(giver_id)),
      taker_end_(own_.endpoint(own_id)),
      taker_(pool, std::move(taker), [this] { wake_.set(); }),
      giver_(std::move(giver.ledger), giver.epoch, giver.ranks) {
    if (!wake_.valid()) throw Failure{{ExitCode::unreachable, "no descriptor is left"}};
    giver_.record = std::move(giver.record);
    giver_.on_loss = [this](std::uint32_t rank, bool is_worker) {
        unprinted_.push_back((is_worker ? "worker " : "rank ") + std::to_string(rank) +
                             " was lost; others get what it had");
    };
    if (Service* const service = giver.service) {
        giver_.asked = [service](const Address& from, Question question) {
            service->ask(from, std::move(question));
        };
        giver_.gone = [service](const Address& from) { service->gone(from); };
    }
    own_.connect(giver_id, own_id);
    thread_ = quiet_thread([this] { run(); });
}

void GiverLine::answer(const Address& taker, GiverAnswer answer) {
    const std::lock_guard lock(mutex_);
    answers_.emplace_back(taker, std::move(answer));
    wake_.set();
}

bool GiverLine::send_answers() {
    if (answers_.empty()) return false;
    for (auto& [taker, answer] : std::exchange(answers_, {})) giver_.answer(taker, std::move(answer));
    return true;
}

void GiverLine::abandon() {
    abandoned_ = true;
    close();
}

void GiverLine::close() {
    if (!thread_.joinable()) return;
    over_ = true;
    wake_.set();
    thread_.join();
}

std::uint64_t GiverLine::takers() const {
    std::lock_guard lock(mutex_);
    return giver_.takers();
}

GiverReport GiverLine::report() const {
    std::lock_guard lock(mutex_);
    return giver_.report();
}

IntervalSet GiverLine::committed_by_all() {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = ++asked_;
    wake_.set();
    answer_.wait(lock, [&] { return answered_ >= mine; });
    return giver_.ledger().committed();
}

// A call during a round waits for the next one, whose answers are all given after it.
void GiverLine::ask_if_wanted() {
    if (asking_ > answered_ && giver_.all_reported()) {
        answered_ = asking_;
        answer_.notify_all();
    }
    if (asking_ > answered_ || asked_ == answered_) return;
    asking_ = asked_;
    giver_.ask_all();
}

IntervalSet GiverLine::failed() const {
    std::lock_guard lock(mutex_);
    return giver_.failed();
}

void GiverLine::use(ranks::tickets::Counters& counters) {
    {
        std::lock_guard lock(mutex_);
        new_counters_ = &counters;
    }
    wake_.set();
}

// Over TCP others' additions end only when this process calls MPI, which takes about 20 us: seldom, while
// nothing moves.
void GiverLine::serve(Instant now) {
    if (auto* const counters = std::exchange(new_counters_, nullptr)) {
        // Another queue may have used them before.
        const auto batch = static_cast<std::uint32_t>(random_bits() & 0xfffff);
        giver_.nodes().use(
            *counters, [this](const std::string& line) { unprinted_.push_back(line); }, batch, now);
    }
    serve_at_.reset();
    if (!giver_.nodes().may_serve()) return;
    giver_.nodes().serve();
    serve_at_ = now + std::min<Duration>(shortest_pause + (now - moved_) / 2, longest_pause);
}

bool GiverLine::move(Instant now) {
    bool moved = false;
    for (const net::frames::Arrival& arrival : arrivals(*taker_end_, moved)) taker_.on(*taker_end_, arrival);
    const bool due = now >= sent_at_ + send_every;
    if (due) sent_at_ = now;
    unsent_ = taker_.flush(*taker_end_, due, now);
    moved = give(now) || moved;
    for (const std::string& line : std::exchange(unprinted_, {})) say_(line);  // it may ask us something
    return moved;
}

bool GiverLine::give(Instant now) {
    bool moved = false;
    const std::lock_guard lock(mutex_);
    for (const net::frames::Arrival& arrival : arrivals(*giver_end_, moved))
        giver_.on(*giver_end_, arrival, now);
    if (others_)
        for (const net::frames::Arrival& arrival : arrivals(*others_, moved))
            giver_.on(*others_, arrival, now);
    const std::uint64_t before = asking_ + answered_;
    ask_if_wanted();
    moved = send_answers() || moved || asking_ + answered_ != before;
    if (const auto next = giver_.wakeup(); next && now >= *next) giver_.tick(now), moved = true;
    if (moved) moved_ = now;
    serve(now);
    return moved;
}

void GiverLine::run() {
    try {
        move_until_over();
    } catch (const std::exception& error) {
        taker_.fail(error.what());
        others_.reset();
        std::lock_guard lock(mutex_);
        answered_ = std::numeric_limits<std::uint64_t>::max();
        answer_.notify_all();
    }
}

void GiverLine::move_until_over() {
    const auto wait_for_more = [&](std::optional<Instant> until) {
        const auto sooner = [&](std::optional<Instant> other) {
            if (other && (!until || *other < *until)) until = other;
        };
        sooner(giver_.wakeup());
        sooner(serve_at_);
        if (unsent_) sooner(sent_at_ + send_every);
        wait(others_ ? others_->descriptors() : std::vector<int>(), wake_, until);
    };
    while (!over_)
        if (!move(instant_now())) wait_for_more({});
    if (abandoned_) return others_.reset();
    taker_.leave(*taker_end_);
    move(instant_now());
    own_.cut(giver_id, own_id, "the program has left it");
    std::optional<Instant> print_at = instant_now() + print_after;
    for (bool moved = true; moved || takers() > 0; moved = move(instant_now())) {
        if (print_at && instant_now() >= *print_at) {
            print_at.reset();
            say_("waits for " + count_of(takers(), "other taker") + " of its slices to end");
        }
        if (!moved) wait_for_more(print_at);
    }
}

}  // namespace wq::slices::claims
