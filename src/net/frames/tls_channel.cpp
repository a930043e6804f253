#include "net/frames/tls_channel.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/units.h"
#include "net/frames/tls_identity.h"

namespace wq::net::frames {

namespace {

constexpr std::size_t binding_bytes = 32;

// The library's error queue in one line; clears it.
std::string library_says() {
    std::string line;
    while (const unsigned long code = ERR_get_error()) {
        const char* reason = ERR_reason_error_string(code);
        if (reason == nullptr) continue;
        if (!line.empty()) line += "; ";
        line += reason;
    }
    return line.empty() ? "unknown reason" : line;
}

// The digest that the worker expects, and the one found instead.
struct Expected {
    std::string digest;
    std::string found;
};

int expected_index() {
    static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

// Replaces the library's check of chains and names.
int check_digest(X509_STORE_CTX* store, void*) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* expected = static_cast<Expected*>(SSL_get_ex_data(ssl, expected_index()));
    X509* certificate = X509_STORE_CTX_get0_cert(store);
    expected->found = certificate == nullptr ? std::string() : digest_of(certificate);
    if (!expected->found.empty() && expected->found == expected->digest) return 1;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
    return 0;
}

bool is_address(const std::string& host) {
    unsigned char bytes[sizeof(in6_addr)];
    return inet_pton(AF_INET, host.c_str(), bytes) == 1 || inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

struct TlsContext::Handle {
    std::unique_ptr<SSL_CTX, Free> context;
    bool manager = false;
    TlsTrust trust;
};

struct TlsChannel::Handle {
    std::unique_ptr<SSL, Free> ssl;
    BIO* in = nullptr;   // owned by the SSL
    BIO* out = nullptr;  // owned by the SSL
    bool manager = false;
    Expected expected;
    bool established = false;  // stays true after a later error, which the library does not report
    std::string binding;
    bool ended = false;
    std::string why;
};

TlsContext::TlsContext(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
TlsContext::~TlsContext() {
    const TlsUse held;
    handle_.reset();
}

Result<std::shared_ptr<TlsContext>> TlsContext::of_manager(const TlsIdentity& identity) {
    const TlsUse held;
    auto handle = std::make_unique<Handle>();
    handle->manager = true;
    handle->context.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX* context = handle->context.get();
    if (context == nullptr) return Error{ExitCode::internal, "TLS cannot be used: " + library_says()};
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_num_tickets(context, 0);  // no resumption: each connection repeats the handshake of the keys
    const Status used = use_identity(context, identity);
    if (!used) return used.error();
    return std::shared_ptr<TlsContext>(new TlsContext(std::move(handle)));
}

Result<std::shared_ptr<TlsContext>> TlsContext::of_worker(const TlsTrust& trust) {
    const TlsUse held;
    auto handle = std::make_unique<Handle>();
    handle->trust = trust;
    handle->context.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX* context = handle->context.get();
    if (context == nullptr) return Error{ExitCode::internal, "TLS cannot be used: " + library_says()};
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    if (trust.by == TlsTrust::By::unverified) {
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    } else {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    }
    if (trust.by == TlsTrust::By::digest) SSL_CTX_set_cert_verify_callback(context, check_digest, nullptr);
    if (trust.by == TlsTrust::By::ca_file &&
        SSL_CTX_load_verify_locations(context, trust.value.c_str(), nullptr) != 1) {
        return Error{ExitCode::bad_input, "cannot read certificates of authorities from " +
                                              quote_for_message(trust.value) + ": " + library_says()};
    }
    return std::shared_ptr<TlsContext>(new TlsContext(std::move(handle)));
}

std::unique_ptr<TlsChannel> TlsContext::channel(const std::string& host) const {
    const TlsUse held;
    auto handle = std::make_unique<TlsChannel::Handle>();
    handle->ssl.reset(SSL_new(handle_->context.get()));
    handle->in = BIO_new(BIO_s_mem());
    handle->out = BIO_new(BIO_s_mem());
    handle->manager = handle_->manager;
    SSL* ssl = handle->ssl.get();
    if (ssl == nullptr || handle->in == nullptr || handle->out == nullptr) throw std::bad_alloc();
    SSL_set_bio(ssl, handle->in, handle->out);
    if (handle_->manager) {
        SSL_set_accept_state(ssl);
        return std::make_unique<TlsChannel>(std::move(handle));
    }
    SSL_set_connect_state(ssl);
    handle->expected.digest = handle_->trust.value;
    SSL_set_ex_data(ssl, expected_index(), &handle->expected);
    if (handle_->trust.by == TlsTrust::By::ca_file) {
        if (is_address(host)) {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
        } else {
            SSL_set1_host(ssl, host.c_str());
            SSL_set_tlsext_host_name(ssl, host.c_str());
        }
    }
    return std::make_unique<TlsChannel>(std::move(handle));
}

TlsChannel::TlsChannel(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
TlsChannel::~TlsChannel() {
    const TlsUse held;
    handle_.reset();
}

void TlsChannel::start() {
    const TlsUse held;
    ERR_clear_error();
    SSL_do_handshake(handle_->ssl.get());
}

bool TlsChannel::take(std::string_view ciphertext, std::string& plaintext) {
    const TlsUse held;
    SSL* ssl = handle_->ssl.get();
    ERR_clear_error();
    BIO_write(handle_->in, ciphertext.data(), static_cast<int>(ciphertext.size()));
    // Not left to SSL_read: if the bytes after the handshake are broken, the handshake would seem unfinished.
    if (!established() && SSL_do_handshake(ssl) == 1) establish();
    for (;;) {
        char piece[16384];  // the maximum of a record
        std::size_t got = 0;
        if (SSL_read_ex(ssl, piece, sizeof piece, &got) == 1) {
            plaintext.append(piece, got);
            continue;
        }
        const int error = SSL_get_error(ssl, 0);
        if (error == SSL_ERROR_WANT_READ) return true;
        if (error == SSL_ERROR_ZERO_RETURN) {
            handle_->ended = true;
            return true;
        }
        handle_->why = problem();
        return false;
    }
}

void TlsChannel::establish() {
    constexpr std::string_view label = "EXPORTER-Channel-Binding";  // RFC 9266
    unsigned char bytes[binding_bytes];
    if (SSL_export_keying_material(handle_->ssl.get(), bytes, sizeof bytes, label.data(), label.size(),
                                   nullptr, 0, 0) != 1)
        throw std::bad_alloc();  // no other cause is possible once the channel is established
    handle_->binding.assign(reinterpret_cast<const char*>(bytes), sizeof bytes);
    handle_->established = true;
}

std::string TlsChannel::problem() const {
    const long verdict = SSL_get_verify_result(handle_->ssl.get());
    const std::string library = library_says();
    const Expected& expected = handle_->expected;
    const bool checked = SSL_get_verify_mode(handle_->ssl.get()) != SSL_VERIFY_NONE;
    if (handle_->manager || !checked || verdict == X509_V_OK || established())
        return "TLS failed: " + library;
    if (!expected.found.empty())
        return "this contact file is old, or another manager has the port: its certificate differs"
               "\nthe digest of its certificate is " +
               expected.found + ", expected " + expected.digest;
    const bool elsewhere =
        verdict == X509_V_ERR_IP_ADDRESS_MISMATCH || verdict == X509_V_ERR_HOSTNAME_MISMATCH;
    return std::string("its certificate is not trusted: ") + X509_verify_cert_error_string(verdict) +
           (elsewhere ? "; connect by a name that is in it"
                      : "; the CA file must have the authority that signed it");
}

bool TlsChannel::encrypt(std::string_view plaintext) {
    const TlsUse held;
    ERR_clear_error();
    std::size_t written = 0;
    return SSL_write_ex(handle_->ssl.get(), plaintext.data(), plaintext.size(), &written) == 1 &&
           written == plaintext.size();
}

void TlsChannel::end() {
    const TlsUse held;
    ERR_clear_error();
    if (established()) SSL_shutdown(handle_->ssl.get());
}

std::string TlsChannel::outgoing() {
    std::string bytes(BIO_ctrl_pending(handle_->out), '\0');
    const int got = bytes.empty() ? 0 : BIO_read(handle_->out, bytes.data(), static_cast<int>(bytes.size()));
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
}

bool TlsChannel::established() const {
    return handle_->established;
}

bool TlsChannel::ended() const {
    return handle_->ended;
}

const std::string& TlsChannel::binding() const {
    return handle_->binding;
}

const std::string& TlsChannel::why() const {
    return handle_->why;
}

}  // namespace wq::net::frames
