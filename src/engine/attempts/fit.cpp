#include "engine/attempts/fit.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

namespace wq::engine::attempts {

namespace {

// A later end time counts as no limit (100 years, which still fits in nanoseconds).
constexpr WallMicros no_limit_us = 3'155'760'000'000'000;

// Whether `give` fits into `free` plus `times` times `give`.
bool fits_queued(const Resources& give, const Resources& free, std::int64_t times) {
    return give.fits_in({free.cores + times * give.cores, free.memory_mb + times * give.memory_mb,
                         free.disk_mb + times * give.disk_mb, free.gpus + times * give.gpus,
                         free.coprocesses + times * give.coprocesses});
}

// `free` plus `times` times `whole`.
Resources with_more(const Resources& free, const Resources& whole, double times) {
    const auto part = [&](std::int64_t amount) {
        return static_cast<std::int64_t>(static_cast<double>(amount) * times);
    };
    return {free.cores + Count::of_thousandths(part(whole.cores.thousandths())),
            free.memory_mb + part(whole.memory_mb), free.disk_mb + part(whole.disk_mb),
            free.gpus + Count::of_thousandths(part(whole.gpus.thousandths())),
            free.coprocesses + part(whole.coprocesses)};
}

// The memory limit that the user set. A category that only measures enforces none.
std::int64_t memory_limit(const Shape& shape, const Category& category, const Monitoring& monitoring) {
    if (shape.needs.memory_mb > 0) return shape.needs.memory_mb;
    const bool only_measured = monitoring.measures && !monitoring.enforces;
    return only_measured ? unsaid : category.max().memory_mb;
}

}  // namespace

bool Fit::ever_holds(const Resources& whole, const std::vector<std::string>& features, ShapeId shape) const {
    const std::vector<std::string>& wanted = state_.ledger.shape(shape).features;
    const auto has = [&](const std::string& feature) {
        return std::binary_search(features.begin(), features.end(), feature);
    };
    return ever_fits(state_.asked(shape), whole) && std::all_of(wanted.begin(), wanted.end(), has);
}

bool Fit::could_ever_run(const Worker& worker, ShapeId shape) const {
    const std::vector<WorkerId>& named = state_.ledger.shape(shape).workers;
    return (named.empty() || std::find(named.begin(), named.end(), worker.id) != named.end()) &&
           ever_holds(worker.whole, worker.features, shape);
}

bool Fit::could_hold(const Worker& worker, ShapeId shape, Instant at) const {
    return has_time(worker.leaves_at, state_.ledger.shape(shape), at) && could_ever_run(worker, shape);
}

std::optional<Resources> Fit::open_share(const Worker& worker, ShapeId shape, Among among) const {
    if (worker.alone || !worker.available() || !could_hold(worker, shape) ||
        !one_more_may_run(state_.ledger.shape(shape)))
        return std::nullopt;
    const std::optional<Reservation>& reserved = state_.pool.reserved();
    if (reserved && reserved->worker == worker.id && (reserved->shape != shape || reserved->among != among))
        return std::nullopt;
    const Resources give = share(shape, worker.whole);
    const bool weightless = give.cores == 0 && give.gpus == 0 && give.coprocesses == 0;
    if (weightless && worker.leases.size() >= static_cast<std::size_t>(most_weightless(worker.whole)))
        return std::nullopt;
    return give;
}

bool Fit::run_has_room() const {
    const Ledger& ledger = state_.ledger;
    return state_.options.most_running == 0 ||
           ledger.count(TaskState::leased) + ledger.count(TaskState::sealed) + state_.copies.size() <
               state_.options.most_running;
}

bool Fit::below_limit(const Shape& shape) const {
    const Category& category = state_.category(shape.category);
    return category.max_concurrent() < 0 ||
           category.has_room(state_.ledger.count(shape.category, TaskState::leased) +
                             state_.ledger.count(shape.category, TaskState::sealed));
}

Resources Fit::given_now(ShapeId shape, const Worker& worker) const {
    Resources give = share(shape, worker.whole);
    const Resources free = worker.free();
    const bool tail = state_.options.ramps_down && state_.options.monitoring.enforces &&
                      state_.ledger.count(TaskState::ready) < state_.connected_workers();
    if (!tail || give.cores == 0 || !worker.fits(give)) return give;
    const Count cores =
        worker.cores_held.any_parts() ? worker.cores_held.untouched(worker.whole.cores) : free.cores;
    return lowered_to({std::max(cores, give.cores), std::max(free.memory_mb, give.memory_mb),
                       std::max(free.disk_mb, give.disk_mb), give.gpus},
                      state_.asked(shape).at_most);
}

std::int64_t Fit::queue_depth(ShapeId shape, const Worker& worker, const Resources& give) const {
    const model::MeanWallTime* const mean = state_.mean_wall.find(shape);
    if (mean == nullptr) return 0;
    // Queued tasks keep their allocation, often a whole worker, although the category soon learns that they
    // need less. A few hundred queued short tasks would all keep it.
    const Shape& what = state_.ledger.shape(shape);
    const Category& category = state_.category(what.category);
    const bool learns = category.mode() != AllocationMode::fixed && !category.steady();
    if (learns && (state_.options.monitoring.measures || what.measured)) return 0;
    return model::queue_depth(*mean, std::max<std::int64_t>(how_many_fit(give, worker.whole), 1));
}

bool Fit::may_queue(ShapeId shape, const Worker& worker, const Resources& give) const {
    // The worker was asked to return a part of its queue.
    if (worker.recalled > 0) return false;
    const std::int64_t depth = queue_depth(shape, worker, give);
    if (depth > 0 && fits_queued(give, worker.free(), depth)) return true;
    const double multiplier = state_.options.submit_multiplier;
    return multiplier > 1 && give.fits_in(with_more(worker.free(), worker.whole, multiplier - 1));
}

Duration Fit::time_for(TaskId task) const {
    const Duration timeout = state_.shape_of(task).timeout;
    const auto& end = state_.ledger.times(task).not_after;
    if (!end || *end > no_limit_us) return timeout;
    const Duration left = std::chrono::microseconds(std::max<WallMicros>(*end - event_.wall(), 1));
    return timeout > Duration{0} ? std::min(timeout, left) : left;
}

bool Fit::ended_by_its_end_time(TaskId task, const Outcome& outcome) const {
    const auto& end = state_.ledger.times(task).not_after;
    if (!end || outcome.ending != Ending::timed_out || event_.wall() < *end) return false;
    const Duration timeout = state_.shape_of(task).timeout;
    const WallMicros begun = state_.ledger.find_attempted(task)->dispatched_us;
    return timeout <= Duration{0} || *end - begun <= timeout / std::chrono::microseconds(1);
}

Watch Fit::watch_of(ShapeId id, const Resources& given) const {
    const Shape& shape = state_.ledger.shape(id);
    const Monitoring& monitoring = state_.options.monitoring;
    Watch watch;
    watch.measures = monitoring.measures || shape.measured;
    watch.series = monitoring.series;
    const Category& category = state_.category(shape.category);
    const std::int64_t memory_mb = memory_limit(shape, category, monitoring);
    if (state_.options.limits_memory && memory_mb > 0) watch.limits.memory_mb = memory_mb;
    if (!monitoring.enforces) return watch;
    if (given.cores > 0) watch.limits.cores = given.cores.thousandths();
    if (given.memory_mb > 0) watch.limits.memory_mb = given.memory_mb;
    if (given.disk_mb > 0) watch.limits.disk_mb = given.disk_mb;
    return watch;
}

bool Fit::dispatches() const {
    return state_.run.may_dispatch() && state_.ledger.expired().empty() &&
           state_.connected_workers() >= state_.run.hold_until_workers();
}

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
           event_.now() >= state_.pool.settled_at();
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
                        [&](const SearchPosition& place) { return counts(state_.workers.find(place.id)); }))
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
