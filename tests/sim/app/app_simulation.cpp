#include "sim/app/app_simulation.h"

#include <algorithm>

namespace wq::sim {

namespace {

constexpr engine::model::Resources whole{4, 4096, 4096, 0};
constexpr net::frames::PeerId manager_peer{0};
constexpr std::uint32_t flaky_retries = 2;

manager::ManagerOptions manager_options(const AppFaults& faults, ranks::tickets::Counters& counters) {
    manager::ManagerOptions options;
    options.reactor.expected_workers = faults.workers;
    options.reactor.max_losses = 1'000'000;  // here every task must reach its own outcome
    options.reactor.seal_batches = faults.tickets;
    if (faults.by_counter) options.counters = &counters;
    // Ranks never rejoin; without tickets, new workers replace lost ones here.
    if (!faults.tickets) options.reactor.rejoin_limit = std::chrono::seconds(30);
    return options;
}

ranks::tickets::PoolShape pool_shape(const AppFaults& faults) {
    return {std::max(faults.workers, 1U), 64 * 1024};
}

}  // namespace

AppSimulation::AppSimulation(AppFaults faults, std::uint64_t seed)
    : faults_(faults),
      random_(seed),
      seed_(seed),
      network_(1, seed, faults.network),
      manager_end_(network_.endpoint(manager_peer)),
      segments_(faults.nodes),
      counters_([this] { return happens(faults_.counter_failures); }) {
    network_.advance(std::chrono::hours(1));
    for (std::uint32_t node = 0; node < faults.nodes; ++node) {
        segments_[node].resize(
            ranks::tickets::TicketPool::bytes_needed(pool_shape(faults)) / sizeof(CacheLine) + 1);
        ranks::tickets::TicketPool::format(segment(node), pool_shape(faults));
    }
    manager_ =
        std::make_unique<manager::Manager>(manager_options(faults, counters_), tasks_, recorder_, now());
    for (std::uint32_t rank = 0; rank < faults.workers; ++rank) add_worker(rank);
    faults.by_counter ? add_array() : add_list();
}

engine::model::Now AppSimulation::now() const {
    return {network_.now(),
            std::chrono::duration_cast<std::chrono::microseconds>(network_.now().time_since_epoch()).count()};
}

FakeTask AppSimulation::task(TaskId id) const {
    std::mt19937_64 own(seed_ * 1'000'003 + id.value());
    FakeTask task;
    task.wall = std::chrono::milliseconds(own() % 50 == 0 ? 2000 : own() % 40);
    if (faults_.flaky) task.failures = static_cast<std::uint32_t>(own() % 8 < 6 ? 0 : own() % 4);
    return task;
}

void AppSimulation::add_list() {
    std::uint64_t line = 1;
    while (tasks_.size() < faults_.tasks) {
        const bool tagged = faults_.groups && random_() % 3 == 0;
        const std::uint64_t count = tagged ? 1 : std::min(1 + random_() % 20, faults_.tasks - tasks_.size());
        engine::model::TaskRange range{TaskId(tasks_.size()), count, {}, {}};
        range.shape.retries = faults_.flaky ? flaky_retries : 0;
        range.shape.needs.cores = faults_.tickets ? 1 : static_cast<std::int64_t>(1 + random_() % 3);
        if (tagged) range.groups.push_back({static_cast<std::uint32_t>(random_() % 3), random_() % 2 == 0});
        for (std::uint64_t n = 0; n < count; ++n, ++line)
            tasks_.add_line("task " + std::to_string(line), line, 0);
        manager_->add(range, {}, {}, now());
        if (faults_.groups && random_() % 10 == 0) manager_->add_barrier(now());
    }
    manager_->end_input(now());
}

void AppSimulation::add_array() {
    const auto last = std::to_string(faults_.tasks);
    tasks_.add_indexes(engine::tasklist::IndexSet::parse("1-" + last).or_throw(), array_command_);
    engine::model::TaskRange range{TaskId(0), faults_.tasks, {}, {}};
    range.shape.retries = faults_.flaky ? flaky_retries : 0;
    manager_->add(range, {}, {}, now());
    manager_->end_input(now());
}

void AppSimulation::note_start(const node::process::Order& order) {
    const std::string name =
        "task " + std::to_string(order.task.value()) + "." + std::to_string(order.attempt);
    if (!starts_.emplace(order.task, order.attempt).second) wrong_starts_.push_back(name + " twice");
    const std::string text = tasks_.text(order.task).command;
    if (order.text != text) wrong_starts_.push_back(name + " as '" + order.text + "', not '" + text + "'");
}

void AppSimulation::add_worker(std::uint32_t rank) {
    auto node = std::make_unique<Node>();
    node->rank = rank;
    node->peer = network_.add();
    node->transport = network_.endpoint(node->peer);
    network_.connect(manager_peer, node->peer);
    node->launcher = std::make_unique<FakeLauncher>(
        whole, [this](TaskId id) { return task(id); },
        [this](const node::process::Order& order) { note_start(order); });
    worker::WorkerOptions options;
    options.hello.rank = rank;
    options.hello.host = "node" + std::to_string(node_of(rank));
    options.hello.offers = whole;
    if (faults_.tickets) {
        const std::uint32_t place = rank / faults_.nodes;
        node->pool =
            std::make_unique<ranks::tickets::TicketPool>(segment(node_of(rank)), pool_shape(faults_), place);
        const bool draws = faults_.by_counter && node_of(rank) != 0;
        node->taker =
            std::make_unique<worker::TicketClient>(*node->pool, whole, draws ? &counters_ : nullptr);
        options.hello.takes_tickets = true;
    }
    node->worker = std::make_unique<worker::Worker>(std::move(options), *node->transport, manager_peer,
                                                    *node->launcher, node->taker.get());
    nodes_.push_back(std::move(node));
}

void AppSimulation::turn(Node& node) {
    const Instant at = network_.now();
    node.launcher->set_time(at);
    if (!std::exchange(node.greeted, true)) node.worker->start(at);
    std::vector<net::frames::Arrival> inbox;
    node.transport->poll(inbox);
    for (const net::frames::Arrival& arrival : inbox) {
        if (const auto* frame = std::get_if<net::frames::Frame>(&arrival))
            node.worker->on_frame(frame->bytes, at);
        if (std::holds_alternative<net::frames::Left>(arrival)) node.worker->on_manager_left();
    }
    used_tickets_ = used_tickets_ || (node.taker && node.taker->active());
    node.worker->on_launcher(at);
    node.worker->tick(at);
}

void AppSimulation::turn() {
    std::vector<net::frames::Arrival> inbox;
    manager_end_->poll(inbox);
    for (const net::frames::Arrival& arrival : inbox) manager_->on_arrival(*manager_end_, arrival, now());
    manager_->on_recorder(now());
    manager_->tick(now());
    manager_->flush();
    for (auto& node : nodes_) turn(*node);
    if (!faults_.slow_storage || random_() % 4 == 0) recorder_.write();
}

// If workers are dismissed by host, every rank has its own host.
void AppSimulation::make_leave(Node& node) {
    const bool exits = happens(faults_.exits);
    const bool dismissed = happens(faults_.dismissals);
    if (!exits && !dismissed) return;
    node.leaves = true;
    ++departures_;
    if (exits) node.launcher->leave();
    if (dismissed) manager_->release().drain("node" + std::to_string(node_of(node.rank)), true, now());
}

void AppSimulation::make_faults() {
    if (faults_.slow_storage && random_() % 20 == 0) recorder_.set_trouble(random_() % 3 == 0);
    std::vector<std::uint32_t> lost;
    for (auto& node : nodes_) {
        const bool stays = faults_.tickets && node->rank == 0;  // at least one must stay
        if (node->launcher->busy() && happens(faults_.launcher_deaths))
            node->launcher->die("killed by signal 9");
        if (node->rank != 0 && !node->leaves) make_leave(*node);
        if (!node->worker->ended() && !stays && happens(faults_.losses)) {
            ++losses_;
            if (random_() % 2 == 0)
                network_.crash(node->peer, "killed");
            else
                network_.silence(node->peer);
            lost.push_back(node->rank);
            node->worker.reset();
        } else if (node->worker->ended()) {  // disconnected by the network
            lost.push_back(node->rank);
            node->worker.reset();
        }
    }
    std::erase_if(nodes_, [](const auto& node) { return node->worker == nullptr; });
    if (!faults_.tickets)
        for (const std::uint32_t rank : lost) add_worker(rank);
}

void AppSimulation::advance() {
    std::optional<Instant> next = manager_->wakeup();
    const auto consider = [&](std::optional<Instant> at) {
        if (at && (!next || *at < *next)) next = at;
    };
    consider(network_.next_arrival());
    for (const auto& node : nodes_) {
        consider(node->worker->wakeup());
        consider(node->launcher->next_end());
    }
    const Duration least = std::chrono::microseconds(200);
    const Duration most = std::chrono::milliseconds(20);  // the back-off of an idle rank
    network_.advance(std::clamp<Duration>(next ? *next - network_.now() : most, least, most));
}

bool AppSimulation::happens(double chance) {
    return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance;
}

bool AppSimulation::run() {
    const Instant limit = network_.now() + std::chrono::hours(1);
    while (!manager_->over()) {
        if (network_.now() > limit) return false;
        turn();
        if (manager_->finished() && !faults_.slow_storage) recorder_.write();
        make_faults();
        advance();
    }
    return true;
}

}  // namespace wq::sim
