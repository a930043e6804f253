#include "net/frames/tls_crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdio>
#include <cstdlib>

#include "net/frames/tls_identity.h"

namespace wq::net::frames {

namespace {

struct ThreadEnd {
    ~ThreadEnd() {
        const NoFork held;
        OPENSSL_thread_stop();
    }
};

}  // namespace

TlsUse::TlsUse() {
    thread_local const ThreadEnd end;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
    const TlsUse held;
    unsigned char code[EVP_MAX_MD_SIZE];
    unsigned bytes = 0;
    if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), code, &bytes) == nullptr) {
        // Only when memory runs out; an empty code would authenticate everybody.
        std::fputs("work_queue: OpenSSL computes no HMAC-SHA256\n", stderr);
        std::abort();
    }
    return {reinterpret_cast<const char*>(code), bytes};
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::string_view bytes) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += digits[static_cast<unsigned char>(byte) >> 4];
        text += digits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

}  // namespace wq::net::frames
