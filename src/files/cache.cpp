#include "files/cache.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

#include "files/fingerprint.h"
#include "files/remove_tree.h"

namespace wq::files {

namespace {

constexpr std::size_t checked_at_once = 4 << 20;

// Tasks may link to a cached file: its time of change tells nothing.
std::string print_of(const std::string& path) {
    return fingerprint_of(path, Compared::modification).print;
}

}  // namespace

Cache::Cache(std::string folder) : folder_(std::move(folder)) {}

Trouble Cache::open() {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return problem_of_errno(folder_, error.value());
    for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename();
        if (is_key(name))
            trees_.insert({name, {0, false, 0, ""}});
        else
            remove_tree(AT_FDCWD, entry->path());
    }
    return error ? Trouble(problem_of_errno(folder_, error.value())) : Trouble{};
}

bool Cache::has(const std::string& key) {
    while (check_some(key)) continue;
    return trees_.contains(key);
}

bool Cache::check_some(const std::string& key) {
    const auto found = trees_.find(key);
    if (found == trees_.end() || found->second.trusted) return false;
    auto begun = checks_.find(key);
    if (begun == checks_.end()) {
        Check check{TreeReader(path_of(key)), print_of(path_of(key)), {}, 0};
        begun = checks_.emplace(key, std::move(check)).first;
    }
    Check& check = begun->second;
    std::string bytes;
    const auto trouble = check.reader.read(bytes, checked_at_once);
    check.maker.add(bytes);
    check.bytes += bytes.size();
    if (!trouble && !check.reader.done()) return true;
    if (trouble || check.maker.key() != key) return drop(key), false;
    found->second = {check.bytes, true, 0, std::move(check.fingerprint)};
    bytes_ += check.bytes;
    checks_.erase(begun);
    return false;
}

bool Cache::fresh(const std::string& key) {
    const auto found = trees_.find(key);
    if (found == trees_.end()) return false;
    if (print_of(path_of(key)) == found->second.fingerprint) return true;
    drop(key);
    return false;
}

void Cache::drop(const std::string& key) {
    const auto found = trees_.find(key);
    if (found == trees_.end()) return;
    bytes_ -= found->second.bytes;
    trees_.erase(found);
    checks_.erase(key);
    remove_tree(AT_FDCWD, path_of(key));
}

bool Cache::make_room() {
    std::vector<std::pair<std::uint64_t, std::string>> oldest;
    for (const auto& [key, tree] : trees_) oldest.emplace_back(tree.placed, key);
    std::sort(oldest.begin(), oldest.end());
    oldest.resize((oldest.size() + 1) / 2);
    for (const auto& [placed, key] : oldest) drop(key);
    return !oldest.empty();
}

Trouble Cache::place(const std::string& key, const std::string& to, Sharing sharing) {
    trees_[key].placed = ++placements_;
    return copy_tree(path_of(key), to, sharing);
}

Cache::Incoming::Incoming(Cache& cache, std::string key)
    : cache_(cache), key_(std::move(key)), writer_(cache.path_of(key_), TreeWriter::Purpose::shared) {}

Trouble Cache::Incoming::write(std::string_view bytes) {
    maker_.add(bytes);
    stream_bytes_ += bytes.size();
    return writer_.write(bytes);
}

Trouble Cache::Incoming::finish() {
    if (maker_.key() != key_)
        return Problem{Problem::Kind::refused,
                       cache_.path_of(key_) + ": other bytes arrived than were announced"};
    if (cache_.has(key_)) return std::nullopt;  // it came twice
    if (auto trouble = writer_.finish()) return trouble;
    cache_.trees_[key_] = {stream_bytes_, true, ++cache_.placements_, print_of(cache_.path_of(key_))};
    cache_.bytes_ += stream_bytes_;
    return std::nullopt;
}

}  // namespace wq::files
