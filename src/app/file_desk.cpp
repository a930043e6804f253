#include "app/file_desk.h"

#include <algorithm>
#include <atomic>

namespace wq::app {

namespace {

// In the lease itself: a round trip costs more than so many bytes. Of all inputs together no more than a
// part.
constexpr std::size_t most_inline = 64 << 10;
constexpr std::size_t most_inline_of_all = wire::part_bytes;
// Between two others of the background's jobs.
constexpr std::size_t bytes_a_job = 4 << 20;
// A reader may go beyond what it was asked for by an entry.
constexpr std::uint64_t slack = files::most_entry_bytes + files::entry_head_bytes;

std::string name_in_memo(const files::Input& input) {
    if (!input.piece) return input.from;
    return input.from + '\0' + std::to_string(input.piece->first) + '-' + std::to_string(input.piece->last);
}

wire::InputKind kind_of(files::Source source) {
    if (source == files::Source::url) return wire::InputKind::url;
    return source == files::Source::command ? wire::InputKind::command : wire::InputKind::content;
}

}  // namespace

// Of the background's thread: a key is made once for all that need it at the time.
struct FileDesk::Keys {
    files::KeyMemo memo;
    std::set<std::string> in_work;
};

// One input after the other; a few megabytes a job.
struct FileDesk::Preparation {
    struct Hashing {
        std::string name;
        files::ContentReader reader;
        files::KeyMaker maker;
        std::uint64_t bytes = 0;
        files::Fingerprint before;
    };
    enum class Step { done, more, parked };

    Key key;
    std::shared_ptr<const files::TaskFiles> files;
    std::function<void(const Prepared&)> then;
    bool dropped = false;  // of the loop's thread; the rest is of whose turn it is
    wire::LeaseFiles lease;
    files::Trouble trouble;
    std::optional<Hashing> hashing;
    std::size_t bytes_inline = 0;

    Step go_on(Keys& keys) {
        for (std::size_t budget = bytes_a_job; lease.inputs.size() < files->inputs.size();) {
            if (budget == 0) return Step::more;
            const files::Input& input = files->inputs[lease.inputs.size()];
            wire::InputFile file;
            file.name = input.name;
            file.kind = kind_of(input.source);
            if (file.kind != wire::InputKind::content) {
                file.from = input.from;
            } else if (!input.cached) {
                look_at(input, file, budget);
            } else {
                const Step step = make_key(input, file, keys, budget);
                if (step == Step::parked) return step;
                if (step == Step::more) continue;
            }
            if (trouble) return Step::done;
            lease.inputs.push_back(std::move(file));
        }
        return Step::done;
    }

    // A key that it was making is somebody else's to make.
    void leave_off(Keys& keys) {
        if (hashing) keys.in_work.erase(hashing->name);
        hashing.reset();
    }

  private:
    void look_at(const files::Input& input, wire::InputFile& file, std::size_t& budget) {
        files::ContentReader reader(input);
        std::string beginning;
        trouble = reader.read(beginning, most_inline + 1);
        budget -= std::min(budget, std::max<std::size_t>(beginning.size(), 4096));
        if (trouble || !reader.done() || bytes_inline + beginning.size() > most_inline_of_all) return;
        bytes_inline += beginning.size();
        file.content = std::move(beginning);
    }

    Step make_key(const files::Input& input, wire::InputFile& file, Keys& keys, std::size_t& budget) {
        if (!hashing) {
            const bool on_disk = input.source == files::Source::file;
            files::Fingerprint now;
            if (on_disk) now = files::fingerprint_of(input.from, files::Compared::any_change);
            const std::string name = on_disk ? name_in_memo(input) : std::string();
            if (const auto known = on_disk ? keys.memo.known(name, now) : std::nullopt) {
                file.key = known->key;
                return Step::done;
            }
            if (on_disk && !keys.in_work.insert(name).second) return Step::parked;
            hashing.emplace(Hashing{name, files::ContentReader(input), {}, 0, std::move(now)});
        }
        std::string bytes;
        trouble = hashing->reader.read(bytes, std::min<std::size_t>(budget, 1 << 20));
        budget -= std::min(budget, std::max<std::size_t>(bytes.size(), 4096));
        hashing->maker.add(bytes);
        hashing->bytes += bytes.size();
        if (!trouble && !hashing->reader.done()) return Step::more;
        if (!trouble) {
            file.key = hashing->maker.key();
            if (!hashing->name.empty())
                keys.memo.keep(hashing->name, hashing->before, {file.key, hashing->bytes});
        }
        leave_off(keys);
        return Step::done;
    }
};

struct FileDesk::Sending {
    WorkerId worker;
    Key key;
    std::uint32_t input = 0;
    std::shared_ptr<const files::TaskFiles> files;  // buffers are read where they are
    files::ContentReader reader;                    // of the background's thread
    std::uint64_t sent = 0;
    std::uint64_t upto = 0;
    bool busy = false;
    bool over = false;
};

// The outputs of a task come one after the other.
struct FileDesk::Taking {
    // Of the background's thread.
    std::optional<files::TreeWriter> writer;
    std::uint32_t output = 0;  // that it writes
    std::string trouble;       // the first
    // Of the loop's.
    std::uint64_t received = 0;
    std::uint64_t granted = wire::first_output_bytes;
    std::uint32_t next = 0;  // outputs before this one are over
    bool finishing = false;
    std::atomic<bool> dropped{false};  // what is still to be written is not

    void write(const files::Output& to, std::uint32_t index, const std::string& bytes, bool last) {
        if (dropped) return;
        if (index != output) leave_off();
        const bool begins = !writer && index != skipped;
        if (begins) writer.emplace(to.to, files::TreeWriter::Purpose::kept);
        output = index;
        if (!writer) return;
        auto wrong = writer->write(bytes);
        if (!wrong && last) wrong = writer->finish();
        if (wrong && trouble.empty()) trouble = wrong->what;
        if (wrong) skipped = index;
        if (wrong || last) writer.reset();
    }
    // Of what did not come whole nothing is left.
    void leave_off() {
        if (writer && trouble.empty()) trouble = "a file did not come to its end";
        writer.reset();
    }

  private:
    std::optional<std::uint32_t> skipped;  // could not be written: the rest of it is not looked at
};

struct FileDesk::Lease {
    WorkerId worker;
    std::shared_ptr<const files::TaskFiles> files;
    std::shared_ptr<Preparation> preparation;
    std::map<std::uint32_t, std::shared_ptr<Sending>> sending;  // by input
    std::shared_ptr<Taking> taking;
};

FileDesk::FileDesk(Background& background, Tell tell)
    : background_(background), tell_(std::move(tell)), keys_(std::make_shared<Keys>()) {}
FileDesk::~FileDesk() = default;

// What is to follow concerns a desk that is there.
void FileDesk::in_background(Background::Job job) {
    background_.post([job = std::move(job), alive = std::weak_ptr(alive_)]() -> Background::Then {
        Background::Then then = job();
        if (!then) return {};
        return [then = std::move(then), alive] {
            if (alive.lock()) then();
        };
    });
}

FileDesk::Lease* FileDesk::find(WorkerId worker, TaskId task, Attempt attempt) {
    const auto found = leases_.find({task, attempt});
    return found == leases_.end() || found->second.worker != worker ? nullptr : &found->second;
}

// ---- before the lease ----

void FileDesk::prepare(WorkerId worker, TaskId task, Attempt attempt,
                       std::shared_ptr<const files::TaskFiles> files,
                       std::function<void(const Prepared&)> then) {
    drop(task, attempt);
    auto preparation = std::make_shared<Preparation>();
    preparation->key = {task, attempt};
    preparation->files = files;
    preparation->then = std::move(then);
    for (const files::Output& output : files->outputs)
        preparation->lease.outputs.push_back({output.name, output.on_failure, output.on_success});
    leases_[{task, attempt}] = {worker, std::move(files), preparation, {}, nullptr};
    of_worker_[worker].insert({task, attempt});
    go_on_preparing(preparation);
}

void FileDesk::go_on_preparing(const std::shared_ptr<Preparation>& preparation) {
    in_background([this, preparation, keys = keys_]() -> Background::Then {
        const Preparation::Step step = preparation->go_on(*keys);
        return [this, preparation, step] {
            if (preparation->dropped) {
                in_background([preparation, keys = keys_]() -> Background::Then {
                    preparation->leave_off(*keys);
                    return {};
                });
                return go_on_with_parked();
            }
            if (step == Preparation::Step::more) return go_on_preparing(preparation);
            if (step == Preparation::Step::parked) return parked_.push_back(preparation);
            prepared(preparation);
            go_on_with_parked();
        };
    });
}

void FileDesk::prepared(const std::shared_ptr<Preparation>& preparation) {
    const auto then = std::move(preparation->then);
    if (preparation->trouble) {
        const files::Problem problem = *preparation->trouble;
        drop(preparation->key.first, preparation->key.second);
        return then(problem);
    }
    leases_.at(preparation->key).preparation.reset();
    traffic_.bytes_sent += static_cast<std::int64_t>(preparation->bytes_inline);
    then(std::move(preparation->lease));
}

void FileDesk::go_on_with_parked() {
    for (const auto& preparation : std::exchange(parked_, {}))
        if (!preparation->dropped) go_on_preparing(preparation);
}

// ---- inputs ----

void FileDesk::on(WorkerId worker, const wire::WantInput& message) {
    const wire::NoInput none{message.task, message.attempt, message.input, "the manager has no such input"};
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr || message.input >= lease->files->inputs.size()) return tell_(worker, none);
    const files::Input& input = lease->files->inputs[message.input];
    if (kind_of(input.source) != wire::InputKind::content) return tell_(worker, none);
    std::shared_ptr<Sending>& sending = lease->sending[message.input];
    // Who begins anew, because it lost what it had, asks for a window.
    if (!sending || (sending->over && message.upto <= wire::input_window))
        sending = std::make_shared<Sending>(Sending{worker,
                                                    {message.task, message.attempt},
                                                    message.input,
                                                    lease->files,
                                                    files::ContentReader(input),
                                                    0,
                                                    0});
    sending->upto = std::max(sending->upto, std::min(message.upto, sending->sent + wire::input_window));
    send_more(sending);
}

void FileDesk::send_more(const std::shared_ptr<Sending>& sending) {
    if (sending->busy || sending->over || sending->sent >= sending->upto) return;
    sending->busy = true;
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(wire::part_bytes, sending->upto - sending->sent));
    in_background([this, sending, most]() -> Background::Then {
        auto bytes = std::make_shared<std::string>();
        const files::Trouble trouble = sending->reader.read(*bytes, most);
        const bool last = sending->reader.done();
        return [this, sending, bytes, trouble, last] {
            sending->busy = false;
            if (sending->over) return;
            const auto [task, attempt] = sending->key;
            sending->over = trouble || last;
            if (trouble)
                return tell_(sending->worker, wire::NoInput{task, attempt, sending->input, trouble->what});
            sending->sent += bytes->size();
            traffic_.bytes_sent += static_cast<std::int64_t>(bytes->size());
            tell_(sending->worker, wire::InputPart{task, attempt, sending->input, std::move(*bytes), last});
            send_more(sending);
        };
    });
}

// ---- outputs ----

// In order, each with at least a byte, as a reader makes them.
bool FileDesk::on(WorkerId worker, wire::OutputPart& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr) {
        tell_(worker, wire::OutputsKept{message.task, message.attempt, "nobody expects them any more"});
        return true;
    }
    if (message.output >= lease->files->outputs.size() || message.bytes.empty()) return false;
    if (!lease->taking) lease->taking = std::make_shared<Taking>();
    const std::shared_ptr<Taking> taking = lease->taking;
    const std::uint64_t size = message.bytes.size();
    taking->received += size;
    if (taking->finishing || message.output < taking->next || taking->received > taking->granted + slack)
        return false;
    taking->next = message.output + (message.last ? 1 : 0);
    traffic_.bytes_received += static_cast<std::int64_t>(size);
    const Key key{message.task, message.attempt};
    in_background([this, worker, taking, key, files = lease->files, output = message.output,
                   last = message.last,
                   bytes = std::make_shared<std::string>(std::move(message.bytes))]() -> Background::Then {
        taking->write(files->outputs[output], output, *bytes, last);
        return [this, worker, taking, key, size = bytes->size()] {
            if (taking->dropped) return;
            taking->granted += size;
            tell_(worker, wire::TakeOutput{key.first, key.second, taking->granted});
        };
    });
    return true;
}

void FileDesk::on(WorkerId worker, const wire::OutputsSent& message) {
    Lease* const lease = find(worker, message.task, message.attempt);
    wire::OutputsKept kept{message.task, message.attempt, ""};
    if (lease == nullptr) kept.trouble = "nobody expects them any more";
    if (lease == nullptr || !lease->taking) return tell_(worker, kept);
    const std::shared_ptr<Taking> taking = lease->taking;
    if (std::exchange(taking->finishing, true)) return;
    in_background([this, worker, kept, taking]() -> Background::Then {
        taking->leave_off();
        return [this, worker, kept, taking]() mutable {
            if (taking->dropped) return;
            kept.trouble = taking->trouble;
            tell_(worker, kept);
        };
    });
}

// ---- ends ----

// Half a file goes where it was written.
void FileDesk::end_streams(Lease& lease) {
    for (auto& [input, sending] : lease.sending) sending->over = true;
    lease.sending.clear();
    if (!lease.taking) return;
    lease.taking->dropped = true;
    in_background([taking = std::exchange(lease.taking, nullptr)]() -> Background::Then {
        taking->writer.reset();
        return {};
    });
}

FileDesk::Leases::iterator FileDesk::end(Leases::iterator lease) {
    const auto worker = of_worker_.find(lease->second.worker);
    if (worker->second.erase(lease->first); worker->second.empty()) of_worker_.erase(worker);
    if (lease->second.preparation) lease->second.preparation->dropped = true;
    end_streams(lease->second);
    return leases_.erase(lease);
}

void FileDesk::drop(TaskId task, Attempt attempt) {
    if (const auto found = leases_.find({task, attempt}); found != leases_.end()) end(found);
}

void FileDesk::drop_if_of(WorkerId worker, TaskId task, Attempt attempt) {
    if (find(worker, task, attempt) != nullptr) drop(task, attempt);
}

void FileDesk::drop(Interval tasks) {
    auto found = leases_.lower_bound({TaskId(tasks.first), 0});
    while (found != leases_.end() && found->first.first.value() < tasks.end) found = end(found);
}

std::vector<std::pair<TaskId, Attempt>> FileDesk::drop(WorkerId worker) {
    const auto found = of_worker_.find(worker);
    if (found == of_worker_.end()) return {};
    const std::vector<Key> keys(found->second.begin(), found->second.end());
    for (const Key& key : keys) drop(key.first, key.second);
    return keys;
}

void FileDesk::cut(WorkerId worker) {
    const auto found = of_worker_.find(worker);
    if (found == of_worker_.end()) return;
    for (const Key& key : found->second) end_streams(leases_.at(key));
}

}  // namespace wq::app
