#include "transport/contact.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "transport/handshake.h"
#include "transport/tls_crypto.h"

namespace wq::transport {

namespace {

using nlohmann::json;

constexpr const char* kind = "work_queue contact";
constexpr int version = 1;
constexpr std::size_t most_addresses = 1000;
constexpr std::size_t most_key_bytes = 64u << 10;
constexpr std::size_t print_digits = 64;

// A field of the right type, or its default where it is missing. Other types are an error, told by `sound`.
template <class T>
T field(const json& from, const char* name, bool& sound, bool (json::*is)() const noexcept,
        T otherwise = {}) {
    const auto found = from.find(name);
    if (found == from.end()) return otherwise;
    if (!((*found).*is)()) {
        sound = false;
        return otherwise;
    }
    return found->get<T>();
}

std::int64_t number(const json& from, const char* name, bool& sound) {
    return field<std::int64_t>(from, name, sound, &json::is_number_integer);
}

std::string text(const json& from, const char* name, bool& sound) {
    return field<std::string>(from, name, sound, &json::is_string);
}

std::vector<std::string> addresses_in(const json& from, bool& sound) {
    std::vector<std::string> addresses;
    const auto found = from.find("addresses");
    sound = sound && found != from.end() && found->is_array() && !found->empty() &&
            found->size() <= most_addresses;
    if (!sound) return addresses;
    for (const json& each : *found) {
        sound = sound && each.is_string() && !each.get_ref<const std::string&>().empty();
        if (sound) addresses.push_back(each.get<std::string>());
    }
    return addresses;
}

bool all_hex(const std::string& digits) {
    return digits.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string from_hex(const std::string& digits, bool& sound) {
    sound = sound && digits.size() % 2 == 0 && digits.size() <= 2 * most_key_bytes && all_hex(digits);
    std::string bytes;
    for (std::size_t i = 0; sound && i < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return bytes;
}

}  // namespace

std::string to_json(const Contact& contact) {
    const json whole = {{"kind", kind},
                        {"version", version},
                        {"addresses", contact.addresses},
                        {"port", contact.port},
                        {"key", to_hex(contact.key)},
                        {"tls", contact.tls},
                        {"certificate_print", contact.certificate_print},
                        {"name", contact.name},
                        {"pid", contact.pid},
                        {"host", contact.host},
                        {"started_us", contact.started}};
    return whole.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

Result<Contact> parse_contact(const std::string& from) {
    const json whole = json::parse(from, nullptr, false);
    if (whole.is_discarded()) return Error{ExitCode::bad_input, "it is torn, or no JSON"};
    bool sound = true;
    if (!whole.is_object() || text(whole, "kind", sound) != kind)
        return Error{ExitCode::bad_input, "it is no contact file of work_queue"};
    if (const std::int64_t found = number(whole, "version", sound); found != version)
        return Error{ExitCode::bad_input, "it is of version " + std::to_string(found) +
                                              ", this program reads " + std::to_string(version) +
                                              ": use the same release on both sides"};
    Contact contact;
    contact.addresses = addresses_in(whole, sound);
    const std::int64_t port = number(whole, "port", sound);
    contact.port = static_cast<std::uint16_t>(port);
    contact.key = from_hex(text(whole, "key", sound), sound);
    contact.tls = field<bool>(whole, "tls", sound, &json::is_boolean);
    contact.certificate_print = text(whole, "certificate_print", sound);
    contact.name = text(whole, "name", sound);
    contact.pid = number(whole, "pid", sound);
    contact.host = text(whole, "host", sound);
    contact.started = number(whole, "started_us", sound);
    const std::string& print = contact.certificate_print;
    if (!sound || port < 1 || port > 65535 ||
        (!print.empty() && (print.size() != print_digits || !all_hex(print))))
        return Error{ExitCode::bad_input, "a field of it is missing or makes no sense"};
    return contact;
}

std::string fresh_key() {
    const Nonce key = fresh_nonce();
    return {key.data(), key.size()};
}

TcpDialOptions dial_options(const Contact& contact) {
    TcpDialOptions options;
    for (const std::string& address : contact.addresses) options.managers.push_back({address, contact.port});
    options.key = contact.key;
    if (!contact.tls) return options;
    // Without a print nothing is known of the certificate, unless the user names a CA file.
    options.tls = contact.certificate_print.empty()
                      ? TlsTrust{}
                      : TlsTrust{TlsTrust::By::print, contact.certificate_print};
    return options;
}

}  // namespace wq::transport
