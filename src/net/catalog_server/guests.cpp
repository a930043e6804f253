#include "net/catalog_server/guests.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace wq::net::catalog_server {

std::string neighbours_of(const std::string& address) {
    in6_addr bytes{};
    if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
    std::fill(bytes.s6_addr + 8, bytes.s6_addr + 16, std::uint8_t{0});
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET6, &bytes, text.data(), text.size());
    return std::string(text.data()) + "/64";
}

void Guests::add(const std::shared_ptr<Guest>& guest, Instant deadline) {
    guest->inside = true;
    guest->neighbours = neighbours_of(guest->address);
    guest->place = by_age_.insert(by_age_.end(), guest);
    is_silent(*guest, deadline, 0);
}

void Guests::remove(Guest& guest) {
    if (!std::exchange(guest.inside, false)) return;
    count(guest, {});
    by_age_.erase(guest.place);
}

void Guests::is_silent(Guest& guest, Instant deadline, std::size_t bytes) {
    step(guest, {.silent = 1, .bytes = bytes}, deadline);
}

void Guests::is_answered(Guest& guest, Instant deadline, std::size_t bytes) {
    step(guest, {.answered = 1, .bytes = bytes}, deadline);
}

void Guests::step(Guest& guest, GuestCounts counts, Instant deadline) {
    if (!guest.inside) return;
    guest.deadline = deadline;
    by_age_.splice(by_age_.end(), by_age_, guest.place);
    count(guest, counts);
    for (const auto what : {&GuestCounts::silent, &GuestCounts::answered, &GuestCounts::bytes})
        make_room(what);
}

void Guests::count(Guest& guest, GuestCounts counts) {
    GuestCounts& of_them = of_neighbours_[guest.neighbours];
    for (GuestCounts* const sum : {&all_, &of_them}) {
        sum->silent += counts.silent - guest.counts.silent;
        sum->answered += counts.answered - guest.counts.answered;
        sum->bytes += counts.bytes - guest.counts.bytes;
    }
    guest.counts = counts;
    if (of_them.silent + of_them.answered == 0) of_neighbours_.erase(guest.neighbours);
}

void Guests::make_room(std::size_t GuestCounts::*what) {
    while (all_.*what > most_.*what) {
        const auto counts = [what](const auto& one) { return one->counts.*what > 0; };
        auto leaver = std::ranges::find_if(by_age_, [&](const auto& one) {
            return counts(one) && of_neighbours_.at(one->neighbours).*what > most_.*what / 2;
        });
        if (leaver == by_age_.end()) leaver = std::ranges::find_if(by_age_, counts);
        dismiss(*leaver);
    }
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): remove() frees the pointer in the list
void Guests::dismiss(std::shared_ptr<Guest> guest) {
    remove(*guest);
    guest->leave();
}

void Guests::sweep(Instant now) {
    std::vector<std::shared_ptr<Guest>> late;
    for (const auto& guest : by_age_)
        if (guest->deadline <= now) late.push_back(guest);
    for (const auto& guest : late) dismiss(guest);
}

}  // namespace wq::net::catalog_server
