#include "files/trees/content_key.h"

#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/fork_gate.h"

namespace wq::files::trees {

namespace {
constexpr std::string_view digits = "0123456789abcdef";
}  // namespace

// Begins and ends while nobody forks: then the library takes locks.
struct KeyMaker::State {
    State() {
        const NoFork gate;
        context = EVP_MD_CTX_new();
        begun = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;
    }
    ~State() {
        const NoFork gate;
        EVP_MD_CTX_free(context);
    }
    State(const State&) = delete;
    EVP_MD_CTX* context = nullptr;
    bool begun = false;
};

KeyMaker::KeyMaker() : state_(std::make_unique<State>()) {
    if (!state_->begun) throw std::bad_alloc();
}
KeyMaker::~KeyMaker() = default;
KeyMaker::KeyMaker(KeyMaker&&) noexcept = default;
KeyMaker& KeyMaker::operator=(KeyMaker&&) noexcept = default;

void KeyMaker::add(std::string_view bytes) {
    EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string KeyMaker::key() {
    std::array<unsigned char, key_digits / 2> hash{};
    EVP_DigestFinal_ex(state_->context, hash.data(), nullptr);
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

}  // namespace wq::files::trees
