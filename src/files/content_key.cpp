#include "files/content_key.h"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace wq::files {

namespace {
constexpr std::string_view digits = "0123456789abcdef";
}  // namespace

struct KeyMaker::State {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

KeyMaker::KeyMaker() : state_(std::make_unique<State>()) {
    if (!state_->context || EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
}
KeyMaker::~KeyMaker() = default;
KeyMaker::KeyMaker(KeyMaker&&) noexcept = default;
KeyMaker& KeyMaker::operator=(KeyMaker&&) noexcept = default;

void KeyMaker::add(std::string_view bytes) {
    EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size());
}

std::string KeyMaker::key() {
    std::array<unsigned char, key_digits / 2> hash{};
    EVP_DigestFinal_ex(state_->context.get(), hash.data(), nullptr);
    std::string key;
    for (const unsigned char byte : hash) {
        key += digits[byte >> 4];
        key += digits[byte & 15];
    }
    return key;
}

bool is_key(std::string_view text) {
    return text.size() == key_digits && text.find_first_not_of(digits) == text.npos;
}

}  // namespace wq::files
