#include "files/transfers/file_transfers.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace wq::files::transfers {

FileTransfers::FileTransfers(Background& background, const SendToWorker& send,
                             std::function<void(const Transfer&)> each)
    : jobs_(background),
      tally_(std::move(each)),
      preparation_(jobs_),
      inputs_(jobs_, tally_, send),
      outputs_(jobs_, tally_, send) {}

// `files` is a copy: drop() may free what a reference refers to.
void FileTransfers::prepare(WorkerId worker, TaskId task, Attempt attempt,
                            // NOLINTNEXTLINE(performance-unnecessary-value-param)
                            std::shared_ptr<const trees::TaskFiles> files,
                            std::function<void(const Prepared&)> then) {
    drop(task, attempt);
    const LeaseKey key{task, attempt};
    of_worker_[worker].insert(key);
    outputs_.open(worker, key, files);
    leases_[key] = {worker, preparation_.prepare(files, [this, worker, key, files,
                                                         then = std::move(then)](const Prepared& result) {
                        prepared(worker, key, files, result);
                        then(result);
                    })};
}

void FileTransfers::prepared(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files,
                             const Prepared& result) {
    const auto* const lease = std::get_if<net::messages::LeaseFiles>(&result);
    if (lease == nullptr) return drop(key.first, key.second);
    leases_.at(key).preparation.reset();
    std::vector<std::string> keys;
    for (const net::messages::InputFile& input : lease->inputs) {
        keys.push_back(input.kind == net::messages::InputKind::content ? input.key : std::string());
        if (!input.content) continue;
        tally_.sent(input.content->size());
        tally_.count({key.first, true, false, input.name, input.content->size(), Duration{0}});
    }
    inputs_.open(worker, key, std::move(files), std::move(keys));
}

void FileTransfers::expect_streams(WorkerId worker, TaskId task, Attempt attempt, std::uint64_t limit) {
    const LeaseKey key{task, attempt};
    if (leases_.try_emplace(key, Lease{worker, nullptr}).second) of_worker_[worker].insert(key);
    outputs_.expect_streams(worker, key, limit);
}

// ---- ends ----

FileTransfers::Leases::iterator FileTransfers::end(Leases::iterator lease) {
    const LeaseKey key = lease->first;
    const auto worker = of_worker_.find(lease->second.worker);
    if (worker->second.erase(key); worker->second.empty()) of_worker_.erase(worker);
    if (lease->second.preparation) InputPreparation::drop(*lease->second.preparation);
    const auto next = leases_.erase(lease);
    outputs_.close(key);
    inputs_.close(key);  // this may send more to other leases, but ends none
    return next;
}

void FileTransfers::drop(TaskId task, Attempt attempt) {
    if (const auto found = leases_.find({task, attempt}); found != leases_.end()) end(found);
}

void FileTransfers::drop_if_of(WorkerId worker, TaskId task, Attempt attempt) {
    const auto found = leases_.find({task, attempt});
    if (found != leases_.end() && found->second.worker == worker) end(found);
}

void FileTransfers::drop(Interval tasks) {
    auto found = leases_.lower_bound({TaskId(tasks.first), 0});
    while (found != leases_.end() && found->first.first.value() < tasks.end) found = end(found);
}

std::vector<LeaseKey> FileTransfers::drop(WorkerId worker) {
    std::vector<LeaseKey> keys;
    if (const auto found = of_worker_.find(worker); found != of_worker_.end())
        keys.assign(found->second.begin(), found->second.end());
    for (const LeaseKey& key : keys) drop(key.first, key.second);
    inputs_.left(worker);
    return keys;
}

void FileTransfers::cut(WorkerId worker) {
    const auto found = of_worker_.find(worker);
    const std::set<LeaseKey> keys = found != of_worker_.end() ? found->second : std::set<LeaseKey>{};
    for (const LeaseKey& key : keys) outputs_.cut(key);
    inputs_.cut(worker, keys);
}

namespace {

// Inputs up to this size are sent in the lease itself, because a round trip costs more. All inputs of a lease
// together: at most one part.
constexpr std::size_t most_inline = 64 << 10;
constexpr std::size_t most_inline_of_all = net::messages::part_bytes;

std::string name_in_memo(const trees::InputFile& input) {
    if (!input.piece) return input.from;
    return input.from + '\0' + std::to_string(input.piece->first) + '-' + std::to_string(input.piece->last);
}

net::messages::InputKind kind_of(trees::InputSource source) {
    if (source == trees::InputSource::url) return net::messages::InputKind::url;
    return source == trees::InputSource::command ? net::messages::InputKind::command
                                                 : net::messages::InputKind::content;
}

// The cache key of a URL or a command; the same source is not inspected again.
std::string key_of_source(const trees::InputFile& input) {
    trees::KeyMaker maker;
    maker.add(input.source == trees::InputSource::url ? "url " : "command ");
    maker.add(input.from);
    return maker.key();
}

}  // namespace

class InputPreparation::Lease {
  public:
    enum class Step { done, more, parked };

    Lease(std::shared_ptr<const trees::TaskFiles> files, Then then)
        : then_(std::move(then)), files_(std::move(files)) {
        for (const trees::OutputFile& output : files_->outputs)
            result_.outputs.push_back({output.name, output.on_failure, output.on_success, output.watched});
    }

    // Called on the background thread.
    Step go_on(Keys& keys);
    // Leaves a key that it was computing to others.
    void leave_off(Keys& keys) {
        if (hashing_) keys.in_work.erase(hashing_->name);
        hashing_.reset();
    }

    // Called on the loop's thread.
    void drop() { dropped_ = true; }
    bool dropped() const { return dropped_; }
    void finish() {
        const Then then = std::move(then_);
        if (trouble_) return then(*trouble_);
        then(std::move(result_));
    }

  private:
    struct Hashing {
        std::string name;
        trees::ContentReader reader;
        trees::KeyMaker maker;
        std::uint64_t bytes = 0;
        trees::Fingerprint before;
    };
    void look_at(const trees::InputFile& input, net::messages::InputFile& file, std::size_t& budget);
    Step make_key(const trees::InputFile& input, net::messages::InputFile& file, Keys& keys,
                  std::size_t& budget);

    bool dropped_ = false;  // only used on the loop's thread; the rest belongs to the thread whose turn it is
    Then then_;
    std::shared_ptr<const trees::TaskFiles> files_;
    net::messages::LeaseFiles result_;
    trees::Trouble trouble_;
    std::optional<Hashing> hashing_;
    std::size_t bytes_inline_ = 0;
};

InputPreparation::Lease::Step InputPreparation::Lease::go_on(Keys& keys) {
    for (std::size_t budget = bytes_a_job; result_.inputs.size() < files_->inputs.size();) {
        if (budget == 0) return Step::more;
        const trees::InputFile& input = files_->inputs[result_.inputs.size()];
        net::messages::InputFile file;
        file.name = input.name;
        file.kind = kind_of(input.source);
        if (file.kind != net::messages::InputKind::content) {
            file.from = input.from;
            if (input.cached) file.key = key_of_source(input);
        } else if (!input.cached) {
            look_at(input, file, budget);
        } else {
            const Step step = make_key(input, file, keys, budget);
            if (step == Step::parked) return step;
            if (step == Step::more) continue;
        }
        if (trouble_) return Step::done;
        result_.inputs.push_back(std::move(file));
    }
    return Step::done;
}

void InputPreparation::Lease::look_at(const trees::InputFile& input, net::messages::InputFile& file,
                                      std::size_t& budget) {
    trees::ContentReader reader(input);
    std::string beginning;
    trouble_ = reader.read(beginning, most_inline + 1);
    budget -= std::min(budget, std::max<std::size_t>(beginning.size(), 4096));
    if (trouble_ || !reader.done() || bytes_inline_ + beginning.size() > most_inline_of_all) return;
    bytes_inline_ += beginning.size();
    file.content = std::move(beginning);
}

InputPreparation::Lease::Step InputPreparation::Lease::make_key(const trees::InputFile& input,
                                                                net::messages::InputFile& file, Keys& keys,
                                                                std::size_t& budget) {
    if (!hashing_) {
        const bool on_disk = input.source == trees::InputSource::file;
        trees::Fingerprint now;
        if (on_disk) now = trees::fingerprint_of(input.from, trees::Compared::any_change);
        const std::string name = on_disk ? name_in_memo(input) : std::string();
        if (const auto known = on_disk ? keys.memo.known(name, now) : std::nullopt) {
            file.key = known->key;
            return Step::done;
        }
        if (on_disk && !keys.in_work.insert(name).second) return Step::parked;
        hashing_.emplace(Hashing{name, trees::ContentReader(input), {}, 0, std::move(now)});
    }
    std::string bytes;
    trouble_ = hashing_->reader.read(bytes, std::min<std::size_t>(budget, 1 << 20));
    budget -= std::min(budget, std::max<std::size_t>(bytes.size(), 4096));
    hashing_->maker.add(bytes);
    hashing_->bytes += bytes.size();
    if (!trouble_ && !hashing_->reader.done()) return Step::more;
    if (!trouble_) {
        file.key = hashing_->maker.key();
        if (!hashing_->name.empty())
            keys.memo.keep(hashing_->name, hashing_->before, {file.key, hashing_->bytes});
    }
    leave_off(keys);
    return Step::done;
}

std::shared_ptr<InputPreparation::Lease> InputPreparation::prepare(
    std::shared_ptr<const trees::TaskFiles> files, Then then) {
    auto lease = std::make_shared<Lease>(std::move(files), std::move(then));
    go_on(lease);
    return lease;
}

void InputPreparation::drop(Lease& lease) {
    lease.drop();
}

void InputPreparation::go_on(const std::shared_ptr<Lease>& lease) {
    jobs_.post([this, lease, keys = keys_]() -> Background::Then {
        const Lease::Step step = lease->go_on(*keys);
        return [this, lease, step] {
            if (lease->dropped()) {
                jobs_.post([lease, keys = keys_]() -> Background::Then {
                    lease->leave_off(*keys);
                    return {};
                });
                return go_on_with_parked();
            }
            if (step == Lease::Step::more) return go_on(lease);
            if (step == Lease::Step::parked) return parked_.push_back(lease);
            lease->finish();
            go_on_with_parked();
        };
    });
}

void InputPreparation::go_on_with_parked() {
    for (const auto& lease : std::exchange(parked_, {}))
        if (!lease->dropped()) go_on(lease);
}

}  // namespace wq::files::transfers
