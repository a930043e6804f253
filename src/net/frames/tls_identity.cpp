#include "net/frames/tls_identity.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <fstream>
#include <iterator>

#include "base/units.h"
#include "net/frames/handshake.h"
#include "net/frames/tls_crypto.h"

namespace wq::net::frames {

namespace {

constexpr long valid_seconds = 10L * 365 * 24 * 3600;  // of a run's own certificate; peers check its digest
constexpr long clock_slack_seconds = 24L * 3600;
constexpr std::size_t most_pem_bytes = 1u << 20;

using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Bio = std::unique_ptr<BIO, Free>;

Bio reader(const std::string& text) {
    return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate next_certificate(BIO* from) {
    Certificate found(PEM_read_bio_X509(from, nullptr, nullptr, nullptr));
    if (!found) ERR_clear_error();
    return found;
}

// Nobody is there to enter a passphrase.
int no_passphrase(char*, int, int, void*) {
    return -1;
}

Key key_in(const std::string& pem) {
    const Bio bio = reader(pem);
    Key found(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
    if (!found) ERR_clear_error();
    return found;
}

std::string written(BIO* bio) {
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(bytes)};
}

Result<std::string> read_pem(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad() || text.empty() || text.size() > most_pem_bytes)
        return Error{ExitCode::bad_input, file + ": cannot be read, or is not a PEM file"};
    return text;
}

Certificate sign_itself(EVP_PKEY* key) {
    Certificate certificate(X509_new());
    X509* made = certificate.get();
    if (made == nullptr) return nullptr;
    const Nonce random = fresh_nonce();
    std::uint32_t serial = 0;
    for (int i = 0; i < 4; ++i)
        serial = serial << 8 | static_cast<unsigned char>(random[static_cast<std::size_t>(i)]);
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(made), serial);
    X509_gmtime_adj(X509_getm_notBefore(made), -clock_slack_seconds);
    X509_gmtime_adj(X509_getm_notAfter(made), valid_seconds);
    X509_NAME* name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("work_queue manager"), -1, -1, 0);
    X509_set_issuer_name(made, name);
    X509_set_pubkey(made, key);
    return X509_sign(made, key, EVP_sha256()) > 0 ? std::move(certificate) : nullptr;
}

}  // namespace

void Free::operator()(SSL_CTX* object) const {
    SSL_CTX_free(object);
}
void Free::operator()(SSL* object) const {
    SSL_free(object);
}
void Free::operator()(X509* object) const {
    X509_free(object);
}
void Free::operator()(EVP_PKEY* object) const {
    EVP_PKEY_free(object);
}
void Free::operator()(BIO* object) const {
    BIO_free_all(object);
}

std::string digest_of(const X509* certificate) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    if (X509_digest(certificate, EVP_sha256(), digest, &bytes) != 1) return {};
    return to_hex({reinterpret_cast<const char*>(digest), bytes});
}

Status use_identity(SSL_CTX* context, const TlsIdentity& identity) {
    const Key key = key_in(identity.key_pem);
    const Bio certificates = reader(identity.certificate_pem);
    const Certificate own = next_certificate(certificates.get());
    if (!key)
        return Error{ExitCode::bad_input, "the key for TLS is not a PEM private key without a passphrase"};
    if (!own) return Error{ExitCode::bad_input, "the certificate for TLS is not a PEM certificate"};
    if (SSL_CTX_use_certificate(context, own.get()) != 1 || SSL_CTX_use_PrivateKey(context, key.get()) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        ERR_clear_error();
        return Error{ExitCode::bad_input, "the key for TLS does not belong to the certificate"};
    }
    while (Certificate between = next_certificate(certificates.get()))
        if (SSL_CTX_add0_chain_cert(context, between.get()) == 1) static_cast<void>(between.release());
    return success();
}

Result<TlsIdentity> make_identity() {
    const TlsUse held;
    const Error cannot{ExitCode::internal, "OpenSSL cannot make a certificate"};
    const Key key(EVP_EC_gen("P-256"));
    if (!key) return cannot;
    const Certificate certificate = sign_itself(key.get());
    const Bio key_text(BIO_new(BIO_s_mem()));
    const Bio certificate_text(BIO_new(BIO_s_mem()));
    if (!certificate || !key_text || !certificate_text ||
        PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
        PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1)
        return cannot;
    return TlsIdentity{written(key_text.get()), written(certificate_text.get())};
}

Result<TlsIdentity> read_identity(const std::string& key_file, const std::string& certificate_file) {
    auto key = read_pem(key_file);
    if (!key) return key.error();
    auto certificate = read_pem(certificate_file);
    if (!certificate) return certificate.error();
    TlsIdentity identity{*key, *certificate};
    const TlsUse held;
    const std::unique_ptr<SSL_CTX, Free> trial(SSL_CTX_new(TLS_server_method()));
    const Status used = use_identity(trial.get(), identity);
    if (!used)
        return Error{used.error().code, key_file + ", " + certificate_file + ": " + used.error().message};
    return identity;
}

Result<std::string> certificate_digest(const TlsIdentity& identity) {
    const TlsUse held;
    const Bio text = reader(identity.certificate_pem);
    const Certificate own = next_certificate(text.get());
    if (!own) return Error{ExitCode::bad_input, "the certificate for TLS is not a PEM certificate"};
    return digest_of(own.get());
}

}  // namespace wq::net::frames
