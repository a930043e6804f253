#include "net/frames/contact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/read_write.h"
#include "base/units.h"
#include "net/frames/handshake.h"
#include "net/frames/tls_crypto.h"

namespace wq::net::frames {

namespace {

constexpr const char* kind = "work_queue contact";
constexpr int version = 1;
constexpr std::size_t most_contact_addresses = 1000;
constexpr std::size_t most_key_bytes = 64u << 10;
constexpr std::size_t digest_digits = 64;

// A field of the right type; nullptr: there is none. Any other type clears `sound`.
const Json* field(const Json& from, const char* name, bool& sound, bool (Json::*is)() const) {
    const Json* const found = from.find(name);
    if (found == nullptr || (found->*is)()) return found;
    sound = false;
    return nullptr;
}

std::int64_t number(const Json& from, const char* name, bool& sound) {
    const Json* const found = field(from, name, sound, &Json::is_number_integer);
    return found == nullptr ? 0 : found->integer();
}

std::string text(const Json& from, const char* name, bool& sound) {
    const Json* const found = field(from, name, sound, &Json::is_string);
    return found == nullptr ? "" : found->text();
}

std::vector<std::string> addresses_in(const Json& from, bool& sound) {
    std::vector<std::string> addresses;
    const Json* const found = from.find("addresses");
    sound = sound && found != nullptr && found->is_array() && found->size() > 0 &&
            found->size() <= most_contact_addresses;
    if (!sound) return addresses;
    for (const Json& each : found->parts()) {
        sound = sound && each.is_string() && !each.text().empty();
        if (sound) addresses.push_back(each.text());
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
    const Json whole{{"addresses", contact.addresses},
                     {"certificate_print", contact.certificate_digest},
                     {"host", contact.host},
                     {"key", to_hex(contact.key)},
                     {"kind", kind},
                     {"name", contact.name},
                     {"pid", contact.pid},
                     {"port", contact.port},
                     {"started_us", contact.started},
                     {"tls", contact.tls},
                     {"version", version}};
    return whole.dump(2, true) + "\n";
}

Result<Contact> parse_contact(const std::string& from) {
    const Json whole = Json::parse(from);
    if (whole.is_discarded())
        return Error{ExitCode::bad_input,
                     "it is incomplete, or not JSON; give the contact file in the directory of the run"};
    bool sound = true;
    if (!whole.is_object() || text(whole, "kind", sound) != kind)
        return Error{ExitCode::bad_input, "it is not a contact file of work_queue"};
    if (const std::int64_t found = number(whole, "version", sound); found != version)
        return Error{ExitCode::bad_input, "it is of version " + std::to_string(found) +
                                              ", this program reads " + std::to_string(version) +
                                              ": use the same release on both sides"};
    Contact contact;
    contact.addresses = addresses_in(whole, sound);
    const std::int64_t port = number(whole, "port", sound);
    contact.port = static_cast<std::uint16_t>(port);
    contact.key = from_hex(text(whole, "key", sound), sound);
    const Json* const tls = field(whole, "tls", sound, &Json::is_boolean);
    contact.tls = tls != nullptr && tls->boolean();
    contact.certificate_digest = text(whole, "certificate_print", sound);
    contact.name = text(whole, "name", sound);
    contact.pid = number(whole, "pid", sound);
    contact.host = text(whole, "host", sound);
    contact.started = number(whole, "started_us", sound);
    const std::string& digest = contact.certificate_digest;
    if (!sound || port < 1 || port > 65535 ||
        (!digest.empty() && (digest.size() != digest_digits || !all_hex(digest))))
        return Error{ExitCode::bad_input, "a field is missing or invalid"};
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
    // Without a digest the certificate cannot be checked, unless the user names a CA file.
    options.tls = contact.certificate_digest.empty()
                      ? TlsTrust{}
                      : TlsTrust{TlsTrust::By::digest, contact.certificate_digest};
    return options;
}

void add_tls(TcpDialOptions& dial, bool ssl, const std::string& ssl_ca) {
    using By = TlsTrust::By;
    if (!ssl_ca.empty())
        dial.tls = TlsTrust{By::ca_file, ssl_ca};
    else if (ssl && !dial.tls)
        dial.tls = TlsTrust{By::unverified, {}};
}

namespace {

constexpr std::size_t most_contact_bytes = 1u << 20;
constexpr std::size_t most_password_bytes = 64u << 10;

std::string last_error() {
    return std::system_category().message(errno);
}

// Whoever can read the key can join the run; a file that somebody else wrote may lead to his manager.
Status check_owner(int descriptor, const std::string& path) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return Error{ExitCode::bad_input, path + ": " + last_error()};
    if (S_ISDIR(status.st_mode))
        return Error{ExitCode::bad_input, path + ": is a folder; give the file \"contact\" in it"};
    if (!S_ISREG(status.st_mode)) return Error{ExitCode::bad_input, path + ": is not a file"};
    if (status.st_uid != ::geteuid() && ::geteuid() != 0)
        return Error{ExitCode::not_allowed, path + ": belongs to another user (uid " +
                                                std::to_string(status.st_uid) +
                                                "): use a contact file of your own run"};
    if ((status.st_mode & 077) != 0)
        return Error{ExitCode::not_allowed,
                     path + ": others may read or change it, and it holds a key: chmod 600 " + path +
                         ", and restart the manager if somebody read it"};
    return success();
}

}  // namespace

Status write_contact(const std::string& path, const Contact& contact) {
    const std::string fresh = path + ".new-" + std::to_string(::getpid());
    ::unlink(fresh.c_str());
    bool written = false;
    {
        const Descriptor file(
            ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        written = file.valid() && write_all(file.get(), to_json(contact)) && ::fsync(file.get()) == 0;
    }
    if (!written || ::rename(fresh.c_str(), path.c_str()) != 0) {
        const std::string why = last_error();
        ::unlink(fresh.c_str());
        return Error{ExitCode::bad_input, path + ": cannot be written: " + why};
    }
    const std::size_t slash = path.rfind('/');
    sync_folder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
    return success();
}

Result<Contact> read_contact(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT)
        return Error{ExitCode::unreachable, path + ": no such file: has the manager started?"};
    if (!file.valid()) return Error{ExitCode::not_allowed, path + ": " + last_error()};
    const Status owned = check_owner(file.get(), path);
    if (!owned) return owned.error();
    std::string text;
    if (!read_all(file.get(), text, most_contact_bytes))
        return Error{ExitCode::bad_input, path + ": " + last_error()};
    if (text.size() > most_contact_bytes)
        return Error{ExitCode::bad_input, path + ": too long for a contact file"};
    auto contact = parse_contact(text);
    if (!contact) return Error{contact.error().code, path + ": " + contact.error().message};
    return contact;
}

Result<std::string> read_password(const std::string& path,
                                  const std::function<void(const std::string&)>& warn) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    const bool known = file.valid() && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
    // A user's private group has the user's number; with it, the usual umask is 002.
    const mode_t others = status.st_gid == status.st_uid ? S_IWOTH : S_IWGRP | S_IWOTH;
    if (known && (status.st_mode & others) != 0)
        return Error{ExitCode::not_allowed,
                     "password file " + path + ": others may change it: chmod 600 " + path};
    if (known && warn && (status.st_mode & (S_IRGRP | S_IROTH)) != 0)
        warn("password file " + path + ": others may read it: chmod 600 " + path);
    std::string text;
    if (!file.valid() || !read_all(file.get(), text, most_password_bytes))
        return Error{ExitCode::bad_input, "password file " + path + ": " + last_error()};
    if (text.empty())
        return Error{ExitCode::bad_input,
                     "password file " + path +
                         ": is empty; write a password into it, as an empty one lets everybody connect"};
    if (text.size() > most_password_bytes)
        return Error{ExitCode::bad_input, "password file " + path + ": has more than 64 KiB"};
    return text;
}

}  // namespace wq::net::frames
