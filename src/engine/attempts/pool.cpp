#include "engine/attempts/pool.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace wq::engine::attempts {

namespace {

// Both are sorted.
bool has_all(const Offer& offer, const std::vector<std::string>& features) {
    return std::includes(offer.features.begin(), offer.features.end(), features.begin(), features.end());
}

void raise_to(Resources& largest, const Resources& offer) {
    largest.cores = std::max(largest.cores, offer.cores);
    largest.memory_mb = std::max(largest.memory_mb, offer.memory_mb);
    largest.disk_mb = std::max(largest.disk_mb, offer.disk_mb);
    largest.gpus = std::max(largest.gpus, offer.gpus);
    largest.coprocesses = std::max(largest.coprocesses, offer.coprocesses);
}

bool offers_enough(const Offer& offer, const Ask& ask, const Shape& shape) {
    return ever_fits(ask, offer.whole) && has_all(offer, shape.features);
}

Resources only_asked(const Ask& ask, const Resources& offer) {
    const auto part = [](auto needs, auto at_least, auto offered) {
        return needs > 0 || at_least > 0 ? offered : decltype(offered)(0);
    };
    const Needs& needs = ask.needs;
    if (needs.remote()) return {0, 0, 0, 0, offer.coprocesses};
    return {part(needs.cores, ask.at_least.cores, offer.cores),
            part(needs.memory_mb, ask.at_least.memory_mb, offer.memory_mb),
            part(needs.disk_mb, ask.at_least.disk_mb, offer.disk_mb),
            part(needs.gpus, ask.at_least.gpus, offer.gpus)};
}

}  // namespace

std::string describe(const std::vector<std::string>& features) {
    std::string text;
    for (const std::string& feature : features) {
        text += text.empty() ? "" : ", ";
        if (feature.starts_with(function_feature))
            text += "function '" + feature.substr(function_feature.size()) + "'";
        else if (feature.starts_with(coprocess_feature))
            text += "coprocess '" + feature.substr(coprocess_feature.size()) + "'";
        else
            text += "feature " + feature;
    }
    return text;
}

// Checks all workers' offers, even if the task names workers.
bool Pool::fits_an_offer(const Ask& ask, const Shape& shape) const {
    const auto& offers = state_.workers.offers();
    return std::any_of(offers.begin(), offers.end(),
                       [&](const auto& each) { return offers_enough(each.first, ask, shape); });
}

bool Pool::fits_somewhere(const Ask& ask, const Shape& shape) const {
    if (shape.workers.empty()) return fits_an_offer(ask, shape);
    return std::any_of(shape.workers.begin(), shape.workers.end(), [&](WorkerId id) {
        const Worker* worker = state_.workers.find(id);
        return worker != nullptr && offers_enough(worker->offer(), ask, shape);
    });
}

bool Pool::could_run_in_time(ShapeId shape) const {
    const auto& workers = state_.workers.all();
    return std::any_of(workers.begin(), workers.end(),
                       [&](const auto& entry) { return fit_.could_hold(entry.second, shape); });
}

bool Pool::settled() const {
    return !state_.options.wait_for_fitting && state_.options.expected_workers > 0 &&
           state_.now.instant >= state_.settled_at;
}

Resources Pool::largest() const {
    Resources largest;
    for (const auto& [offer, count] : state_.workers.offers()) raise_to(largest, offer.whole);
    return largest;
}

// ---- hosts ----

std::vector<WorkerId> Pool::workers_of(const std::string& host) const {
    const std::set<WorkerId>* const there = state_.workers.of_host(host);
    return there == nullptr ? std::vector<WorkerId>{} : std::vector<WorkerId>(there->begin(), there->end());
}

bool Pool::host_holds(const std::string& host, ShapeId shape) const {
    const std::vector<WorkerId> there = workers_of(host);
    return std::any_of(there.begin(), there.end(),
                       [&](WorkerId id) { return fit_.could_ever_run(*state_.workers.find(id), shape); });
}

bool Pool::some_host_holds(ShapeId shape, const std::string* but) const {
    const Shape& what = state_.ledger.shape(shape);
    const auto counts = [&](const Worker* worker) {
        return worker != nullptr && worker->available() && (but == nullptr || worker->host != *but) &&
               fit_.could_ever_run(*worker, shape);
    };
    for (const WorkerId id : what.workers)
        if (counts(state_.workers.find(id))) return true;
    if (!what.workers.empty()) return false;
    for (const auto& [kind, of_kind] : state_.workers.kinds()) {
        if (!fit_.ever_holds(kind.at_most.whole, kind.at_most.features, shape)) continue;
        const Places& places = of_kind.by(Scarce::cores);
        if (std::any_of(places.begin(), places.end(),
                        [&](const Place& place) { return counts(state_.workers.find(place.id)); }))
            return true;
    }
    return false;
}

std::vector<ShapeId> Pool::what_waits_for(const std::string& host) const {
    std::set<ShapeId> shapes(state_.ledger.suspect_shapes());
    for (const ReadyHead& head : state_.ledger.ready_shapes()) shapes.insert(head.shape);
    for (const WorkerId id : workers_of(host))
        for (const ReadyHead& head : state_.ledger.ready_shapes_for(id)) shapes.insert(head.shape);
    std::vector<ShapeId> held;
    for (const ShapeId shape : shapes)
        if (host_holds(host, shape)) held.push_back(shape);
    return held;
}

std::string Pool::blocked_hosts_for(ShapeId shape) const {
    constexpr std::size_t most_named = 8;
    if (state_.blocks.empty() || some_host_holds(shape, nullptr)) return "";
    std::vector<std::string> hosts;
    for (const auto& [host, block] : state_.blocks.all())
        if (host_holds(host, shape)) hosts.push_back(host);
    std::string named;
    for (std::size_t i = 0; i < std::min(hosts.size(), most_named); ++i)
        named += (named.empty() ? "" : ", ") + hosts[i];
    if (hosts.size() <= most_named) return named;
    return named + " and " + std::to_string(hosts.size() - most_named) + " more";
}

// ---- messages ----

// "the largest worker has 2 cores, 4000 MB memory", of the resources that the ask names; "2" if it names one.
std::string Pool::largest_for(const Ask& ask, const std::vector<std::string>& features) const {
    Resources with_most_cores;
    Resources of_each;
    for (const auto& [offer, count] : state_.workers.offers()) {
        if (!has_all(offer, features)) continue;
        const Resources offered = only_asked(ask, offer.whole);
        with_most_cores = std::max(with_most_cores, offered);
        raise_to(of_each, offered);
    }
    if (of_each == Resources{}) return "no worker has any";
    std::string text = model::describe(with_most_cores);
    if (with_most_cores != of_each) return "no worker has all of it: the one with the most cores has " + text;
    if (text.find(',') == std::string::npos) text.resize(text.rfind(' '));  // "needs 16 cores" names them
    return "the largest worker has " + text;
}

std::string Pool::what_is_missing(ShapeId shape) const {
    const std::vector<std::string>& wanted = state_.ledger.shape(shape).features;
    const auto& offers = state_.workers.offers();
    const bool has_features = std::any_of(offers.begin(), offers.end(),
                                          [&](const auto& each) { return has_all(each.first, wanted); });
    if (!has_features) return describe(wanted) + ", which no worker has";
    const Ask& ask = state_.asked(shape);
    return model::describe(ask) + (wanted.empty() ? "" : " and " + describe(wanted)) + "; " +
           largest_for(ask, wanted);
}

bool Pool::some_share_a_host() const {
    std::set<std::string_view> hosts;
    return std::any_of(state_.workers.all().begin(), state_.workers.all().end(),
                       [&](const auto& each) { return !hosts.insert(each.second.host).second; });
}

}  // namespace wq::engine::attempts
