#include "node/machine/cpu_mask.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace wq::node::machine {

namespace {
constexpr std::size_t word_bits = sizeof(unsigned long) * 8;
constexpr std::size_t most_words = 65536 / word_bits;  // more units than any kernel supports
}  // namespace

void CpuMask::add(int pu) {
    if (pu < 0) return;
    const auto index = static_cast<std::size_t>(pu);
    if (index / word_bits >= words_.size()) words_.resize(index / word_bits + 1, 0);
    words_[index / word_bits] |= 1UL << (index % word_bits);
}

void CpuMask::add(const std::vector<int>& pus) {
    for (const int pu : pus) add(pu);
}

bool CpuMask::contains(int pu) const {
    const auto index = static_cast<std::size_t>(pu);
    return pu >= 0 && index / word_bits < words_.size() &&
           ((words_[index / word_bits] >> (index % word_bits)) & 1) != 0;
}

std::size_t CpuMask::count() const {
    std::size_t total = 0;
    for (const unsigned long word : words_) total += static_cast<std::size_t>(std::popcount(word));
    return total;
}

CpuMask& CpuMask::operator|=(const CpuMask& other) {
    if (words_.size() < other.words_.size()) words_.resize(other.words_.size(), 0);
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
}

bool CpuMask::operator==(const CpuMask& other) const {
    for (std::size_t i = 0; i < std::max(words_.size(), other.words_.size()); ++i) {
        const unsigned long mine = i < words_.size() ? words_[i] : 0;
        const unsigned long theirs = i < other.words_.size() ? other.words_[i] : 0;
        if (mine != theirs) return false;
    }
    return true;
}

std::vector<int> CpuMask::indexes() const {
    std::vector<int> result;
    for (std::size_t i = 0; i < words_.size() * word_bits; ++i)
        if (contains(static_cast<int>(i))) result.push_back(static_cast<int>(i));
    return result;
}

CpuMask CpuMask::of_process(int pid) {
    // The raw call refuses a buffer smaller than the kernel's own mask (EINVAL) and does not tell that size.
    CpuMask mask;
    for (std::size_t words = 16; words <= most_words; words *= 2) {
        mask.words_.assign(words, 0);
        if (syscall(SYS_sched_getaffinity, pid, mask.bytes(), mask.words_.data()) >= 0) {
            while (!mask.words_.empty() && mask.words_.back() == 0) mask.words_.pop_back();
            return mask;
        }
        if (errno != EINVAL) break;
    }
    mask.words_.clear();
    return mask;
}

bool CpuMask::apply_to(int pid) const {
    return syscall(SYS_sched_setaffinity, pid, bytes(), words()) == 0;
}

}  // namespace wq::node::machine
