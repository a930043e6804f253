#include "slices/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace wq::slices::plan {
namespace {

std::vector<std::uint64_t> elements(std::uint64_t size, std::uint64_t key) {
    const Permutation permutation(size, key);
    std::vector<std::uint64_t> all;
    for (std::uint64_t position = 0; position < size; ++position) all.push_back(permutation.at(position));
    return all;
}

TEST(Permutation, HasEachElementOnce) {
    std::vector<std::uint64_t> sizes{4095, 4096, 4097, 99'991};
    for (std::uint64_t size = 1; size <= 300; ++size) sizes.push_back(size);
    for (const std::uint64_t size : sizes) {
        std::vector<std::uint64_t> all = elements(size, size + 1);
        std::sort(all.begin(), all.end());
        for (std::uint64_t element = 0; element < size; ++element) ASSERT_EQ(all[element], element) << size;
    }
}

// Of a large one, which nobody can list: two positions never have one element, and all are below the size.
TEST(Permutation, OfAnySizeCostsNoMemory) {
    for (const std::uint64_t size : {std::uint64_t{1'000'000'000'000}, Permutation::largest}) {
        const Permutation permutation(size, 9);
        std::vector<std::uint64_t> some;
        for (std::uint64_t n = 0; n < 100'000; ++n) some.push_back(permutation.at(n * (size / 100'000)));
        EXPECT_LT(*std::max_element(some.begin(), some.end()), size);
        std::sort(some.begin(), some.end());
        EXPECT_EQ(std::adjacent_find(some.begin(), some.end()), some.end());
    }
}

TEST(Permutation, IsThatOfItsKeyForEver) {  // a checkpoint of today is read by another version
    EXPECT_EQ(elements(10, 1), elements(10, 1));
    EXPECT_NE(elements(10, 1), elements(10, 2));
    EXPECT_EQ(elements(10, 1), (std::vector<std::uint64_t>{8, 5, 1, 3, 4, 7, 9, 6, 0, 2}));
    EXPECT_EQ(Permutation(1'000'000'000'000, 1).at(5), 833'905'120'786U);
}

// Chi-square of the counts per degree of freedom: about 1 if all cells are as likely.
double chi_square(const std::vector<double>& counts) {
    double all = 0;
    for (const double count : counts) all += count;
    const double expected = all / static_cast<double>(counts.size());
    double sum = 0;
    for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum / (static_cast<double>(counts.size()) - 1);
}

TEST(Permutation, OfFewElementsIsAnyOfAll) {
    for (const std::uint64_t size : {3U, 4U, 5U, 6U}) {
        std::map<std::vector<std::uint64_t>, double> seen;
        for (std::uint64_t key = 0; key < 40'000; ++key) seen[elements(size, mixed(3, key))] += 1;
        std::vector<double> counts;
        for (const auto& [order, count] : seen) counts.push_back(count);
        const std::size_t orders[] = {6, 24, 120, 720};
        EXPECT_EQ(counts.size(), orders[size - 3]);
        EXPECT_LT(chi_square(counts), 3) << size;
    }
}

// Counts pairs (a, b), a != b, of elements below `size`.
class Pairs {
  public:
    explicit Pairs(std::uint64_t size) : size_(size), counts_(size * (size - 1)) {}
    void add(std::uint64_t a, std::uint64_t b) { counts_[a * (size_ - 1) + (b < a ? b : b - 1)] += 1; }
    double unevenness() const { return chi_square(counts_); }

  private:
    std::uint64_t size_;
    std::vector<double> counts_;
};

// One deviation of these figures is 0.014 for 100 elements; the figures are the same in each run.
TEST(Permutation, PairsOfPositionsHaveAnyPairOfElements) {
    for (const std::uint64_t size : {20U, 64U, 100U}) {
        Pairs near(size);
        Pairs far(size);
        for (std::uint64_t key = 0; key < 100'000; ++key) {
            const Permutation permutation(size, mixed(1, key));
            near.add(permutation.at(0), permutation.at(1));
            far.add(permutation.at(0), permutation.at(size - 1));
        }
        EXPECT_NEAR(near.unevenness(), 1, 0.2) << size;
        EXPECT_NEAR(far.unevenness(), 1, 0.2) << size;
    }
}

TEST(Permutation, EpochsDoNotKnowEachOther) {
    constexpr std::uint64_t size = 100;
    std::vector<double> counts(size * size);
    std::uint64_t before = 0;
    for (std::uint64_t epoch = 0; epoch < 100'000; ++epoch) {
        const std::uint64_t now = Permutation(size, mixed(42, epoch)).at(7);
        counts[before * size + now] += 1;
        before = now;
    }
    EXPECT_NEAR(chi_square(counts), 1, 0.1);
    std::vector<double> seeds(size);
    for (std::uint64_t seed = 0; seed < 100'000; ++seed) seeds[Permutation(size, mixed(seed, 0)).at(7)] += 1;
    EXPECT_NEAR(chi_square(seeds), 1, 0.6);
}

}  // namespace
}  // namespace wq::slices::plan
