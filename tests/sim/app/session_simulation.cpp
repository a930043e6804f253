#include "sim/app/session_simulation.h"

#include <algorithm>
#include <csignal>

namespace wq::sim {

namespace {

constexpr engine::model::Resources session_worker{4, 4096, 4096, 0};
constexpr net::frames::PeerId session_manager_peer{0};

manager::ManagerOptions session_manager_options(const SessionFaults& faults) {
    manager::ManagerOptions options;
    options.reactor.max_losses = 1'000'000;
    options.disconnect_limit = faults.grace;
    options.reactor.join_limit = options.reactor.rejoin_limit = std::chrono::minutes(5);
    return options;
}

}  // namespace

SessionSimulation::SessionSimulation(SessionFaults faults, std::uint64_t seed)
    : faults_(faults),
      random_(seed),
      seed_(seed),
      network_(1, seed, faults.network),
      manager_end_(network_.endpoint(session_manager_peer)) {
    network_.advance(std::chrono::hours(1));
    manager_ = std::make_unique<manager::Manager>(session_manager_options(faults), tasks_, recorder_, now());
    manager_->expect_tcp_workers(*manager_end_);
    for (std::uint64_t line = 1; line <= faults.tasks; ++line) {
        engine::model::TaskRange range{TaskId(tasks_.size()), 1, {}, {}};
        range.shape.needs.cores = static_cast<std::int64_t>(1 + random_() % 2);
        tasks_.add_line("task " + std::to_string(line), line, 0);
        manager_->add(range, {}, {}, now());
    }
    manager_->end_input(now());
    for (std::uint32_t n = 0; n < faults.workers; ++n) add_worker();
}

engine::model::Now SessionSimulation::now() const {
    return {network_.now(),
            std::chrono::duration_cast<std::chrono::microseconds>(network_.now().time_since_epoch()).count()};
}

FakeTask SessionSimulation::task(TaskId id) const {
    std::mt19937_64 own(seed_ * 1'000'003 + id.value());
    const std::uint64_t unit = faults_.long_tasks ? 20 : 1;
    return {std::chrono::milliseconds(unit * (own() % 10 == 0 ? 2000 : own() % 100)), 0};
}

void SessionSimulation::note_start(const node::process::Order& order) {
    for (const auto& node : nodes_) doubles_ += node->launcher->runs(order.task) ? 1 : 0;
    for (Remains& dead : remains_) dead.launcher->set_time(network_.now());
    for (const Remains& dead : remains_)
        doubles_ += dead.ends > network_.now() && dead.launcher->runs(order.task) ? 1 : 0;
    if (!starts_.emplace(order.task, order.attempt).second)
        wrong_starts_.push_back("task " + std::to_string(order.task.value()) + "." +
                                std::to_string(order.attempt) + " twice");
}

worker::Call SessionSimulation::call(Node& node) {
    node.peer = network_.add();
    node.notices_at.reset();
    worker::Call call;
    call.transport = network_.endpoint(node.peer);
    call.manager = session_manager_peer;
    network_.connect(session_manager_peer, node.peer);
    call.local_address = [peer = node.peer] { return "loopback:" + std::to_string(peer.value()); };
    call.heard = [&node](Instant now) { return net::frames::Heard{node.notices_at ? node.heard : now, now}; };
    if (happens(faults_.unreachable)) network_.cut(session_manager_peer, node.peer, "the faults");
    return call;
}

void SessionSimulation::add_worker() {
    auto node = std::make_unique<Node>();
    node->launcher = std::make_unique<FakeLauncher>(
        session_worker, [this](TaskId id) { return task(id); },
        [this](const node::process::Order& order) { note_start(order); });
    worker::WorkerOptions options;
    options.hello.host = "node" + std::to_string(named_);
    options.hello.identity = "identity" + std::to_string(named_++);
    options.hello.offers = session_worker;
    node->worker = std::make_unique<worker::Worker>(std::move(options), *node->launcher);
    worker::WorkerSessionOptions session;
    session.seed = random_();
    session.min_backoff = std::chrono::milliseconds(100);
    session.max_backoff = std::chrono::seconds(3);
    session.single_shot = true;
    Node* const here = node.get();
    node->session = std::make_unique<worker::WorkerSession>(
        session, *node->worker, [this, here](worker::Whom) -> Result<worker::Call> { return call(*here); },
        [](const std::string&) {}, network_.now());
    nodes_.push_back(std::move(node));
}

void SessionSimulation::turn() {
    std::vector<net::frames::Arrival> inbox;
    manager_end_->poll(inbox);
    for (const net::frames::Arrival& arrival : inbox) manager_->on_arrival(*manager_end_, arrival, now());
    manager_->on_recorder(now());
    manager_->tick(now());
    manager_->flush();
    for (auto& node : nodes_) {
        node->launcher->set_time(network_.now());
        if (node->stopped_until) continue;
        node->session->run_turn(network_.now());
        node->launcher->keep_until(node->session->keeps_tasks_until(network_.now()));
    }
    recorder_.write();
}

void SessionSimulation::make_faults() {
    std::size_t gone = 0;
    for (auto& node : nodes_) {
        if (stopped(*node)) continue;
        if (node->session->link() != nullptr && happens(faults_.cuts)) {
            ++cuts_;
            network_.cut(session_manager_peer, node->peer, "the faults");
        }
        if (node->session->link() != nullptr && happens(faults_.half_open)) {
            // Only the worker notices the end: it reconnects while the manager still has the old connection.
            ++cuts_;
            node->session->lose_link("it seems dead", network_.now());
        }
        if (node->session->link() != nullptr && !node->notices_at && happens(faults_.late_cuts)) {
            ++cuts_;
            node->notices_at = network_.now() + up_to(std::chrono::seconds(90));
            node->heard = network_.now() - up_to(std::chrono::seconds(15));
            manager_->on_arrival(*manager_end_, net::frames::Left{node->peer, "silent"}, now());
        }
        if (node->notices_at && network_.now() >= *node->notices_at) {
            node->session->lose_link("it is silent", network_.now());
            node->notices_at.reset();
        }
        if (!std::exchange(node->exited, node->exited || happens(faults_.exits)) && node->exited) {
            ++exits_;
            node->launcher->leave();
        }
        if (!node->session->over() && happens(faults_.drains)) {
            ++drains_;
            node->session->stop(SIGTERM, network_.now());
        }
        if (node->session->over() || happens(faults_.kills)) {
            // The last message of a leaving worker arrives before the end of its connection.
            if (node->session->over() && node->session->link() != nullptr)
                node->session->link()->close(session_manager_peer);
            else if (!node->session->over())
                ++kills_, leave_remains(*node);
            network_.crash(node->peer, "killed");
            node->session.reset();
            ++gone;
        }
    }
    std::erase_if(nodes_, [](const auto& node) { return node->session == nullptr; });
    for (; gone > 0; --gone) add_worker();
    send_last_words();
}

Duration SessionSimulation::up_to(Duration most) {
    return Duration(std::uniform_int_distribution<Duration::rep>(0, most.count())(random_));
}

bool SessionSimulation::stopped(Node& node) {
    if (!node.stopped_until) {
        if (node.session->link() == nullptr || node.notices_at || !happens(faults_.stops)) return false;
        ++stops_;
        node.heard = network_.now();
        node.silent_from = node.heard + up_to(std::chrono::seconds(30));
        node.stopped_until = node.notices_at = node.heard + up_to(std::chrono::seconds(90));
    }
    if (node.silent_from && network_.now() >= *node.silent_from) {
        manager_->on_arrival(*manager_end_, net::frames::Left{node.peer, "silent"}, now());
        node.silent_from.reset();
    }
    if (network_.now() < *node.stopped_until) return true;
    if (std::exchange(node.silent_from, {})) node.notices_at.reset();  // nobody noticed
    node.stopped_until.reset();
    return false;
}

void SessionSimulation::leave_remains(Node& node) {
    Remains dead{std::move(node.launcher), node.worker->link().last_words(),
                 network_.now() + up_to(std::chrono::seconds(13)), Instant{}};
    dead.speaks = dead.ends;
    if (dead.words) dead.words->all_ended = !happens(faults_.unkillable);
    if (dead.words && !dead.words->all_ended) dead.ends = network_.now() + up_to(faults_.grace);
    if (!happens(faults_.last_words) && (!dead.words || dead.words->all_ended)) dead.words.reset();
    remains_.push_back(std::move(dead));
}

void SessionSimulation::send_last_words() {
    for (Remains& dead : remains_) {
        if (!dead.words || network_.now() < dead.speaks) continue;
        const net::frames::PeerId speaker = network_.add();
        network_.connect(session_manager_peer, speaker);
        network_.endpoint(speaker)->send(session_manager_peer, net::messages::encode(*dead.words));
        network_.silence(speaker);  // it reads no answer
        dead.words.reset();
    }
    std::erase_if(remains_, [&](const Remains& dead) { return !dead.words && network_.now() >= dead.ends; });
}

void SessionSimulation::advance() {
    std::optional<Instant> next = manager_->wakeup();
    const auto consider = [&](std::optional<Instant> at) {
        if (at && (!next || *at < *next)) next = at;
    };
    // What comes for a stopped worker would be next for ever.
    if (std::none_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->stopped_until; }))
        consider(network_.next_arrival());
    for (const auto& node : nodes_) {
        consider(node->notices_at);
        if (node->stopped_until) continue;
        consider(node->session->wakeup());
        consider(node->launcher->next_end());
    }
    network_.advance(std::clamp<Duration>(next ? *next - network_.now() : std::chrono::milliseconds(20),
                                          std::chrono::microseconds(200), std::chrono::milliseconds(20)));
}

bool SessionSimulation::happens(double chance) {
    return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance;
}

bool SessionSimulation::run() {
    const Instant limit = network_.now() + std::chrono::hours(1);
    while (!manager_->over()) {
        if (network_.now() > limit) return false;
        turn();
        make_faults();
        advance();
    }
    return true;
}

}  // namespace wq::sim
