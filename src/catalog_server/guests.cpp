#include "catalog_server/guests.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace wq::catalog_server {

void Guests::add(std::shared_ptr<Guest> guest, Instant deadline) {
    guest->inside = true;
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
    GuestCounts& of_address = of_address_[guest.address];
    for (GuestCounts* const sum : {&all_, &of_address}) {
        sum->silent += counts.silent - guest.counts.silent;
        sum->answered += counts.answered - guest.counts.answered;
        sum->bytes += counts.bytes - guest.counts.bytes;
    }
    guest.counts = counts;
    if (of_address.silent + of_address.answered == 0) of_address_.erase(guest.address);
}

void Guests::make_room(std::size_t GuestCounts::*what) {
    while (all_.*what > most_.*what) {
        const auto counts = [what](const auto& one) { return one->counts.*what > 0; };
        auto leaver = std::ranges::find_if(by_age_, [&](const auto& one) {
            return counts(one) && of_address_.at(one->address).*what > most_.*what / 2;
        });
        if (leaver == by_age_.end()) leaver = std::ranges::find_if(by_age_, counts);
        dismiss(*leaver);
    }
}

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

}  // namespace wq::catalog_server
