#include "net/session/session_table.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random_bits.h"
#include "base/units.h"
#include "engine/model/task.h"

namespace wq::net::session {

namespace {

constexpr std::size_t longest_name = 255;
constexpr std::size_t longest_platform = 64;
constexpr std::int64_t longest_us = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000;
constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

bool plain(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool within(std::int64_t value, std::int64_t most) {
    return value >= 0 && value <= most;
}

std::optional<std::string> nonsense_in(const std::vector<std::string>& features) {
    std::size_t functions = 0;
    for (std::string_view feature : features) {
        if (feature.starts_with(engine::model::function_feature)) {
            ++functions;
            feature.remove_prefix(engine::model::function_feature.size());
        }
        if (feature.size() > engine::model::longest_feature)
            return "the name of one of its features or functions is too long";
    }
    if (functions > engine::model::most_functions)
        return "it has more than " + std::to_string(engine::model::most_functions) + " functions";
    if (features.size() - functions > engine::model::most_features)
        return "it has more than " + std::to_string(engine::model::most_features) + " features";
    return std::nullopt;
}

}  // namespace

SessionTable::Claim SessionTable::judge(const messages::Hello& hello) const {
    const auto known = sessions_.find(hello.identity);
    if (known == sessions_.end()) return Claim::first;
    if (hello.resume == known->second.token) return Claim::comes_back;
    return hello.resume.empty() && !known->second.confirmed ? Claim::anew : Claim::taken;
}

void SessionTable::keep_number(WorkerId of_a_rank) {
    if (of_a_rank != unknown_worker) next_number_ = std::max(next_number_, of_a_rank.value() + 1);
}

Session& SessionTable::open(std::string identity, records::journal::WorkerRecord record) {
    identities_[record.worker] = identity;
    Session& session = sessions_[identity];
    session = {};
    session.identity = std::move(identity);
    session.token = random_token();
    session.record = std::move(record);
    return session;
}

void SessionTable::close(WorkerId worker) {
    const auto known = identities_.find(worker);
    if (known == identities_.end()) return;
    sessions_.erase(known->second);
    identities_.erase(known);
}

Session* SessionTable::find(const std::string& identity) {
    const auto known = sessions_.find(identity);
    return known == sessions_.end() ? nullptr : &known->second;
}

Session* SessionTable::find(WorkerId worker) {
    return const_cast<Session*>(std::as_const(*this).find(worker));
}

const Session* SessionTable::find(WorkerId worker) const {
    const auto known = identities_.find(worker);
    if (known == identities_.end()) return nullptr;
    const auto found = sessions_.find(known->second);
    return found == sessions_.end() ? nullptr : &found->second;
}

bool is_platform(std::string_view name) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    return name.size() <= longest_platform && !name.starts_with('.') &&
           name.find_first_not_of(letters) == name.npos;
}

std::optional<std::string> nonsense_in(const messages::Hello& hello) {
    if (hello.rank) return "a rank cannot join over TCP";
    if (hello.identity.empty() || hello.identity.size() > longest_name || !plain(hello.identity))
        return "it has no identity";
    if (hello.host.empty() || hello.host.size() > longest_name || !plain(hello.host))
        return "its host name is invalid";
    if (!is_platform(hello.os) || !is_platform(hello.arch)) return "its platform name is invalid";
    if (hello.node.size() > longest_name || !plain(hello.node)) return "its node name is invalid";
    if (hello.address.size() > longest_name || !plain(hello.address)) return "its address is invalid";
    if (hello.job.size() > longest_name || !plain(hello.job)) return "its job's id is invalid";
    const engine::model::Resources& offers = hello.offers;
    if (!within(offers.cores.rounded_up(), most_cores) || !within(offers.memory_mb, most_mb) ||
        !within(offers.disk_mb, most_mb) || !within(offers.gpus.rounded_up(), most_cores) ||
        !within(offers.coprocesses, engine::model::most_coprocesses))
        return "its offer is impossible";
    return nonsense_in(hello.features);
}

void make_plausible(engine::model::Outcome& outcome) {
    for (std::int64_t* time : {&outcome.started_us, &outcome.wall_us, &outcome.user_us, &outcome.system_us,
                               &outcome.files.inputs_there_us, &outcome.files.outputs_there_us})
        *time = std::clamp<std::int64_t>(*time, 0, longest_us);
    for (std::int64_t* count : {&outcome.peak_memory_kb, &outcome.bytes_read, &outcome.bytes_written})
        *count = std::clamp<std::int64_t>(*count, 0, most_bytes);
}

std::string random_token() {
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64 "%016" PRIx64, random_bits(), random_bits());
    return text.data();
}

}  // namespace wq::net::session
