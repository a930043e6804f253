#include "slices/plan/plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/units.h"

namespace wq::slices::plan {

namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014, with Stafford's constants "Mix13").
constexpr std::uint64_t hash(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;

// A hash from 0 to below-1.
std::uint64_t hash_below(std::uint64_t bits, std::uint64_t below) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{hash(bits)} * below) >> 64);
}

std::uint64_t sum_below(std::uint64_t one, std::uint64_t other, std::uint64_t below) {
    const std::uint64_t sum = one + other;
    return sum >= below ? sum - below : sum;
}

// Even: with an odd number of both rows and columns, only every second permutation could come.
std::uint64_t rows_of(std::uint64_t size) {
    return (static_cast<std::uint64_t>(std::sqrt(static_cast<double>(size))) + 1) / 2 * 2;
}

// The fewer elements, the more rounds until all orders are about as likely. Chi-square per degree of freedom:
// of all orders of 5 elements 26 after 4 rounds and 0.7 after 12, of pairs of 64 elements 1.12 after 3
// and 1.01 after 4.
std::size_t rounds_for(std::uint64_t size) {
    return size < 32 ? 12 : size < 256 ? 5 : 3;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key)
    : size_(size), rows_(rows_of(size)), columns_((size + rows_ - 1) / rows_), rounds_(rounds_for(size)) {
    for (std::uint64_t& round : keys_) round = hash(key += golden_ratio);
}

std::uint64_t Permutation::moved(std::uint64_t place) const {
    std::uint64_t row = place / columns_;
    std::uint64_t column = place % columns_;
    for (std::size_t round = 0; round < rounds_; ++round) {
        row = sum_below(row, hash_below(column ^ keys_[2 * round], rows_), rows_);
        column = sum_below(column, hash_below(row ^ keys_[2 * round + 1], columns_), columns_);
    }
    return row * columns_ + column;
}

Permutation::Elements Permutation::from(std::uint64_t first) const {
    Elements rows;
    Elements columns;
    for (std::size_t n = 0; n < together; ++n) {
        rows[n] = (first + n) / columns_;
        columns[n] = (first + n) % columns_;
    }
    for (std::size_t round = 0; round < rounds_; ++round) {
        for (std::size_t n = 0; n < together; ++n)
            rows[n] = sum_below(rows[n], hash_below(columns[n] ^ keys_[2 * round], rows_), rows_);
        for (std::size_t n = 0; n < together; ++n)
            columns[n] =
                sum_below(columns[n], hash_below(rows[n] ^ keys_[2 * round + 1], columns_), columns_);
    }
    for (std::size_t n = 0; n < together; ++n) {
        rows[n] = rows[n] * columns_ + columns[n];
        if (rows[n] >= size_) rows[n] = at(rows[n]);
    }
    return rows;
}

std::uint64_t mixed(std::uint64_t one, std::uint64_t other) {
    return hash(hash(one + golden_ratio) ^ (other * golden_ratio + 1));
}

Result<SliceOrder> SliceOrder::make(const OrderOptions& options) {
    if (options.slices == 0) return Error{ExitCode::usage, "there are no slices"};
    if (options.epochs == 0) return Error{ExitCode::usage, "the number of epochs is 0; it is at least 1"};
    if (options.slices > Permutation::largest / options.epochs)
        return Error{ExitCode::usage, "too many slices: " + std::to_string(options.slices) + " in each of " +
                                          std::to_string(options.epochs) + " epochs; at most 2^62 in all"};
    return SliceOrder(options);
}

SliceOrder::SliceOrder(const OrderOptions& options)
    : options_(options), permutation_(of(0)), ahead_at_(positions()) {}  // none is ahead

Permutation SliceOrder::of(std::uint64_t epoch) const {
    return {options_.slices, mixed(options_.seed, epoch)};
}

std::uint64_t SliceOrder::slice_at(std::uint64_t position) {
    if (position >= ahead_at_ && position - ahead_at_ < ahead_.size()) return ahead_[position - ahead_at_];
    const std::uint64_t epoch = epoch_of(position);
    if (!options_.shuffle) return position - epoch * options_.slices;
    if (epoch != epoch_) permutation_ = of(epoch), epoch_ = epoch;
    const std::uint64_t place = position - epoch * options_.slices;
    const bool goes_on = position == std::exchange(last_, position) + 1;
    if (!goes_on || place + ahead_.size() > options_.slices) return permutation_.at(place);
    ahead_at_ = position;
    last_ = position + ahead_.size() - 1;
    ahead_ = permutation_.from(place);
    return ahead_.front();
}

namespace {

constexpr std::string_view start_mark = "?start=";
constexpr std::string_view end_mark = "&end=";

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

Error bad(const std::string& what) {
    return {ExitCode::usage, what};
}

Status check(const std::vector<PlanSource>& sources) {
    if (sources.empty()) return bad("the list of works is empty");
    for (std::size_t n = 0; n < sources.size(); ++n) {
        if (sources[n].name.empty()) return bad("work " + std::to_string(n + 1) + " has no name");
        if (Slice::parse(sources[n].name).records)
            return bad(quote_for_message(sources[n].name) + " names a slice; give the name of the whole");
    }
    return success();
}

// How many of `slices` each source gets: one, and of the others its part; those that the parts round off go
// to the largest remainders (Hamilton's method).
std::vector<std::uint64_t> apportion(const std::vector<std::uint64_t>& records, std::uint64_t slices) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t ones = static_cast<std::uint64_t>(
        std::count_if(records.begin(), records.end(), [](std::uint64_t each) { return each > 0; }));
    const std::uint64_t all = std::accumulate(records.begin(), records.end(), std::uint64_t{0});
    std::uint64_t left = slices - ones;
    std::vector<std::uint64_t> counts;
    std::vector<std::pair<std::uint64_t, std::size_t>> remainders;
    // One record of each source is spent on its first slice, so that no source gets more slices than records.
    const std::uint64_t further = std::max<std::uint64_t>(all - ones, 1);
    const std::uint64_t to_share = left;
    for (std::size_t n = 0; n < records.size(); ++n) {
        const Wide part = Wide{records[n] > 0 ? records[n] - 1 : 0} * to_share;
        const auto whole = static_cast<std::uint64_t>(part / further);
        counts.push_back((records[n] > 0 ? 1 : 0) + whole);
        remainders.emplace_back(static_cast<std::uint64_t>(part % further), n);
        left -= whole;
    }
    std::stable_sort(remainders.begin(), remainders.end(),
                     [](const auto& one, const auto& other) { return one.first > other.first; });
    for (std::uint64_t n = 0; n < left; ++n) ++counts[remainders[n].second];
    return counts;
}

}  // namespace

std::string Slice::text() const {
    if (!records) return source;
    return source + std::string(start_mark) + std::to_string(records->first) + std::string(end_mark) +
           std::to_string(records->end);
}

Slice Slice::parse(const std::string& text) {
    const std::size_t start = text.rfind(start_mark);
    const std::size_t end = start == std::string::npos ? start : text.find(end_mark, start);
    if (end != std::string::npos) {
        const std::string_view words = text;
        const auto first = number(words.substr(start + start_mark.size(), end - start - start_mark.size()));
        const auto last = number(words.substr(end + end_mark.size()));
        if (first && last && *first <= *last) return {text.substr(0, start), Interval{*first, *last}};
    }
    return {text, std::nullopt};
}

Plan::Pieces Plan::even(std::uint64_t records, std::uint64_t count) {
    if (count == 0) return {};
    return {count, records % count, records / count + 1, records / count};
}

Plan::Pieces Plan::equal(std::uint64_t records, std::uint64_t wanted) {
    if (records == 0) return {};
    const std::uint64_t length = std::max<std::uint64_t>(records / wanted, 1);
    const std::uint64_t count = (records - 1) / length + 1;
    return {count, count - 1, length, records - (count - 1) * length};
}

void Plan::add(Pieces pieces) {
    pieces_.push_back(pieces);
    first_.push_back(first_.back() + pieces.count);
}

Result<Plan> Plan::make(std::vector<PlanSource> sources, Cut cut, std::int64_t slices) {
    if (const Status good = check(sources); !good) return good.error();
    if (cut != Cut::whole && slices < 1)
        return bad("num_slices is " + std::to_string(slices) +
                   "; give at least 1, or leave it out for whole works");
    std::vector<std::uint64_t> records;
    std::uint64_t all = 0;
    std::uint64_t with_records = 0;
    for (const PlanSource& source : sources) {
        records.push_back(source.records.value_or(0));
        if (records.back() > Permutation::largest - all) return bad("the works have more than 2^62 records");
        all += records.back();
        with_records += records.back() > 0 ? 1 : 0;
    }
    const auto wanted = static_cast<std::uint64_t>(slices);
    // Works that nobody can count are not cut, whatever is asked for.
    if (cut == Cut::total && with_records == 0) cut = Cut::per_source;
    if (cut == Cut::total && wanted > all)
        return bad("num_slices is " + std::to_string(slices) + ", but the works have " +
                   count_of(all, "record"));
    if (cut == Cut::total && wanted < with_records)
        return bad("num_slices is " + std::to_string(slices) + ", but there are " +
                   count_of(with_records, "work") + " to cut, and each needs at least one slice");
    const std::vector<std::uint64_t> counts =
        cut == Cut::total ? apportion(records, wanted) : std::vector<std::uint64_t>(records.size(), 1);
    Plan plan(std::move(sources));
    for (std::size_t n = 0; n < plan.sources_.size(); ++n) {
        if (!plan.sources_[n].records || cut == Cut::whole)
            plan.add({1, 0, 0, 0});
        else
            plan.add(cut == Cut::total ? even(records[n], counts[n]) : equal(records[n], wanted));
    }
    if (plan.size() == 0) return bad("the works have no records");
    return plan;
}

std::size_t Plan::source_of(std::uint64_t slice) const {
    return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), slice) - first_.begin()) -
           1;
}

Slice Plan::at(std::uint64_t slice) const {
    const std::size_t source = source_of(slice);
    const Pieces& pieces = pieces_[source];
    if (pieces.length == 0 && pieces.rest == 0) return {sources_[source].name, std::nullopt};
    const std::uint64_t piece = slice - first_[source];
    const std::uint64_t longer = std::min(piece, pieces.longer);
    const std::uint64_t start = longer * pieces.length + (piece - longer) * pieces.rest;
    return {sources_[source].name,
            Interval{start, start + (piece < pieces.longer ? pieces.length : pieces.rest)}};
}

std::uint64_t Plan::digest() const {
    std::uint64_t bits = mixed(sources_.size(), size());
    for (std::size_t n = 0; n < sources_.size(); ++n) {
        for (const char letter : sources_[n].name) bits = mixed(bits, static_cast<unsigned char>(letter));
        bits = mixed(bits, sources_[n].records ? *sources_[n].records + 1 : 0);
        for (const std::uint64_t part :
             {pieces_[n].count, pieces_[n].longer, pieces_[n].length, pieces_[n].rest})
            bits = mixed(bits, part);
    }
    return bits;
}

}  // namespace wq::slices::plan
