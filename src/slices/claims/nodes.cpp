#include "slices/claims/nodes.h"

#include <variant>

namespace wq::slices::claims {

namespace {

IntervalSet set_of(Interval range) {
    IntervalSet all;
    all.insert(range);
    return all;
}

}  // namespace

void Nodes::use(ranks::tickets::Counters& counters, CarefulCounters::Say say, std::uint32_t batch,
                Instant now) {
    seal_.use(&counters, std::move(say), batch);
    give_to_all(now);
}

void Nodes::join(const Address& taker, const Hello& hello, Welcome welcome, Instant now) {
    auto at = nodes_.find(hello.node);
    if (at == nodes_.end()) at = nodes_.try_emplace(hello.node, next_node_++, next_batch_++).first;
    at->second.takers.insert(taker);
    homes_.emplace(taker, at);
    welcome.batch = at->second.recount.batch();
    taker.send(welcome);
    if (!hello.draws) return;
    drawers_.insert(taker);
    if (!seal_.is_open()) return give_to_all(now);
    SealOpened sealed = seal_.sealed();
    sealed.epoch = epoch_, sealed.takers = homes_.size();
    taker.send(sealed);
}

void Nodes::leave(const Address& taker, TakerEnd how, Instant now) {
    const auto at = homes_.at(taker);
    const bool drew = drawers_.erase(taker) > 0;
    homes_.erase(taker);
    Node& node = at->second;
    node.takers.erase(taker);
    if (node.filler && node.filler->taker == taker) node.filler.reset();
    wait_no_more(at, taker);
    if (node.takers.empty()) {
        given_again_ += ledger_.lose(node.id);
        nodes_.erase(at);
    } else {
        begin_recount(node);
    }
    if (drew) {
        seal_.leave(taker, how);
        if (how == TakerEnd::lost && seal_.is_open()) close_seal();
    }
    settle_seal();
    give_to_all(now);
}

void Nodes::take(const Address& from, const Refill&, Instant now) {
    const auto at = homes_.at(from);
    wait(at, from, now);
    begin_seal();
    give(at, now);
    send_if_none_left();
}

void Nodes::take(const Address& from, const RefillDone& done, Instant now) {
    const auto at = homes_.at(from);
    Node& node = at->second;
    // Otherwise the node has got a new batch since, and what was granted before is counted as lost.
    const bool counts = node.filler == Filler{from, done.positions};
    if (counts && done.gives_back) ledger_.give_back(node.id, done.positions);
    if (counts) node.filler.reset();
    send_refilled(at);
    if (counts && done.gives_back) give_to_all(now);
    send_if_none_left();
}

void Nodes::take(const Address& from, const CounterRange& range, Instant) {
    if (!drawers_.contains(from)) return;
    const auto at = homes_.at(from);
    ledger_.drawn(at->second.id, set_of(range.positions));
    at->second.recount.drawn(from, range.positions);
    send_refilled(at);
}

void Nodes::take(const Address& from, const CensusReply& reply, Instant now) {
    Node& node = homes_.at(from)->second;
    const auto all = node.recount.answer(from, reply);
    if (!all) return;
    ledger_.drawn(node.id, *all);  // by one that was lost before it told that
    const std::uint64_t found = ledger_.recount(node.id, *all);
    given_again_ += found;
    if (found > 0) node.recount.ask_soon();
    const bool has_ended = settle_seal();
    found > 0 || has_ended ? give_to_all(now) : give(homes_.at(from), now);
}

void Nodes::take(const Address& from, const SealReply& reply, Instant now) {
    seal_.answer(from, reply);
    if (settle_seal()) give_to_all(now);
}

IntervalSet Nodes::commit(const Address& from, const IntervalSet& positions) {
    const Node& node = homes_.at(from)->second;
    ledger_.drawn(node.id, positions);  // by another taker of the node, whom we have not heard yet
    return ledger_.commit(node.id, positions);
}

void Nodes::begin_recount(Node& node) {
    node.recount.cancel();
    const bool has_some = !ledger_.outstanding_of(node.id).empty();
    const bool may_have = !ledger_.sealed().empty() && ledger_.delivery() != plan::Delivery::at_most_once;
    if (!has_some && !may_have) return;
    node.filler.reset();  // what is on its way will be of an older batch
    node.recount.begin(next_batch_++, node.takers);
}

// Short ranges are granted by message: those that were lost, mostly.
void Nodes::begin_seal() {
    const auto next = ledger_.open().front();
    if (!next || next->size() <= homes_.size()) return;
    if (drawers_.empty() || !seal_.is_none() || !seal_.there()) return;
    auto sealed = seal_.begin(ledger_);
    if (!sealed) return;
    sealed->epoch = epoch_, sealed->takers = homes_.size();
    for (const Address& drawer : drawers_) {
        wait_no_more(homes_.at(drawer), drawer);
        drawer.send(*sealed);
    }
}

void Nodes::close_seal() {
    seal_.close(ledger_, drawers_);
    settle_seal();
}

// Not while takers are asked for what a lost one may have drawn for them.
bool Nodes::settle_seal() {
    const auto is_asked = [](const auto& node) { return node.second.recount.pending(); };
    if (!seal_.is_reported() || std::any_of(nodes_.begin(), nodes_.end(), is_asked)) return false;
    given_again_ += seal_.end(ledger_);
    return true;
}

void Nodes::tick(Instant now) {
    if (waiting_.empty() || now < tick_at_) return;
    tick_at_ = now + Recount::shortest;
    for (auto& [name, node] : nodes_) {
        if (!node.recount.due(now)) continue;
        node.recount.ask_later();
        node.recount.postpone(now);
        begin_recount(node);
    }
    give_to_all(now);
}

void Nodes::wait(Map::iterator node, const Address& taker, Instant now) {
    if (waiting_.empty()) tick_at_ = now + Recount::shortest;
    waiting_.insert(node->first);
    node->second.waiting.insert(taker);
    node->second.unaware.insert(taker);
}

void Nodes::wait_no_more(Map::iterator node, const Address& taker) {
    node->second.waiting.erase(taker);
    node->second.unaware.erase(taker);
    if (node->second.waiting.empty()) waiting_.erase(node->first);
}

// The node has tickets now.
void Nodes::send_refilled(Map::iterator node) {
    waiting_.erase(node->first);
    node->second.unaware.clear();
    for (const Address& taker : std::exchange(node->second.waiting, {})) taker.send(NodeRefilled{});
}

// To one taker at a time, whose fill the others of the node share.
void Nodes::give(Map::iterator at, Instant now) {
    Node& node = at->second;
    if (node.waiting.empty() || node.filler) return;
    const auto positions = next_for(node);
    if (!positions) return;
    node.recount.granted(*positions);
    node.filler = Filler{*node.waiting.begin(), *positions};
    wait_no_more(at, node.filler->taker);
    node.recount.ask_soon();
    node.recount.postpone(now);
    node.filler->taker.send(Granted{*positions});
}

std::optional<Interval> Nodes::next_for(const Node& node) {
    const std::uint64_t part = part_of(ledger_.to_give(), epoch_, homes_.size());
    const auto most = std::min<std::uint64_t>(part * node.takers.size(), ranks::tickets::kMostTickets);
    if (ledger_.open().empty() && seal_.is_open()) {
        if (const auto drawn = seal_.draw(most)) {
            ledger_.drawn(node.id, set_of(*drawn));
            return drawn;
        }
        close_seal();
    }
    const plan::Drawn drawn = ledger_.draw(node.id, most);
    const auto* grant = std::get_if<plan::Grant>(&drawn);
    return grant != nullptr ? std::optional(grant->positions) : std::nullopt;
}

void Nodes::give_to_all(Instant now) {
    begin_seal();
    for (const std::string& name : std::set(waiting_)) give(nodes_.find(name), now);
    send_if_none_left();
}

bool Nodes::is_filling() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& node) { return node.second.filler.has_value(); });
}

std::uint64_t Nodes::waiting() const {
    std::uint64_t takers = 0;
    for (const std::string& name : waiting_) takers += nodes_.at(name).waiting.size();
    return takers;
}

void Nodes::nobody_waits() {
    for (const std::string& name : std::exchange(waiting_, {})) {
        Node& node = nodes_.find(name)->second;
        node.waiting.clear();
        node.unaware.clear();
    }
}

// What is being granted may come back unused.
void Nodes::send_if_none_left() {
    if (ledger_.to_give() > 0 || is_filling()) return;
    for (const std::string& name : waiting_)
        for (const Address& taker : std::exchange(nodes_.find(name)->second.unaware, {}))
            taker.send(NoneLeft{});
}

}  // namespace wq::slices::claims
