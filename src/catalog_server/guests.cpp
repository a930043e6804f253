#include "catalog_server/guests.h"

#include <unordered_map>
#include <vector>

namespace wq::catalog_server {

bool Guests::has_room(Instant now) {
    if (all_.size() < most_) return true;
    const auto idles = [now](const Guest& guest) { return guest.progressed + guest.patience < now; };
    std::unordered_map<std::string, std::size_t> of_address;
    for (const auto& guest : all_)
        if (idles(*guest)) ++of_address[guest->address];
    std::shared_ptr<Guest> leaver;
    for (const auto& guest : all_) {
        if (!idles(*guest)) continue;
        const std::size_t count = of_address[guest->address];
        const std::size_t most = leaver ? of_address[leaver->address] : 0;
        if (count > most || (count == most && guest->progressed < leaver->progressed)) leaver = guest;
    }
    if (!leaver) return false;
    remove(leaver);
    leaver->leave();
    return true;
}

void Guests::add(std::shared_ptr<Guest> guest) {
    bytes_ += guest->held;
    all_.insert(std::move(guest));
}

void Guests::remove(const std::shared_ptr<Guest>& guest) {
    if (all_.erase(guest) > 0) bytes_ -= guest->held;
}

void Guests::step(Guest& guest, Instant now, Instant deadline, std::size_t held) {
    guest.progressed = now;
    guest.deadline = deadline;
    bytes_ += held - guest.held;
    guest.held = held;
    while (bytes_ > most_bytes_) {
        std::shared_ptr<Guest> leaver;
        for (const auto& other : all_)
            if (other->held > 0 && (!leaver || other->progressed < leaver->progressed)) leaver = other;
        if (!leaver) return;
        remove(leaver);
        leaver->leave();
    }
}

void Guests::sweep(Instant now) {
    std::vector<std::shared_ptr<Guest>> late;
    for (const auto& guest : all_)
        if (guest->deadline <= now) late.push_back(guest);
    for (const auto& guest : late) {
        remove(guest);
        guest->leave();
    }
}

}  // namespace wq::catalog_server
