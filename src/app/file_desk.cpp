#include "app/file_desk.h"

#include <algorithm>

#include "app/file_desk_parts.h"

namespace wq::app {

namespace {
constexpr std::size_t longest_folder = 4096;
}

FileDesk::FileDesk(Background& background, Tell tell, Tally tally)
    : background_(background),
      tell_(std::move(tell)),
      tally_(std::move(tally)),
      keys_(std::make_shared<Keys>()) {}
FileDesk::~FileDesk() = default;

double FileDesk::Traffic::bandwidth() const {
    const double seconds = std::chrono::duration<double>(time_of_transfers).count();
    return seconds > 0 ? static_cast<double>(bytes_of_transfers) / (1 << 20) / seconds : 0;
}

void FileDesk::count(Transfer transfer) {
    if (transfer.took > Duration{0}) {
        traffic_.bytes_of_transfers += static_cast<std::int64_t>(transfer.bytes);
        traffic_.time_of_transfers += transfer.took;
    }
    tally_(transfer);
}

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

// ---- inputs ----

void FileDesk::on(WorkerId worker, const wire::WantInput& message) {
    const wire::NoInput none{message.task, message.attempt, message.input, "the manager has no such input"};
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr || lease->preparation || message.input >= lease->files->inputs.size())
        return tell_(worker, none);
    const files::Input& input = lease->files->inputs[message.input];
    if (files::made_by_worker(input.source)) return tell_(worker, none);
    const auto known = lease->sending.find(message.input);
    std::shared_ptr<Sending> sending = known == lease->sending.end() ? nullptr : known->second;
    if (!sending || sending->stream != message.stream) {
        if (sending) sending->over = true;
        if (is_elsewhere(worker, *lease, message)) return;
        sending = std::make_shared<Sending>(Sending{worker,
                                                    {message.task, message.attempt},
                                                    message.input,
                                                    message.stream,
                                                    lease->files,
                                                    files::ContentReader(input),
                                                    instant_now()});
        lease->sending[message.input] = sending;
    }
    sending->upto = std::max(sending->upto, std::min(message.upto, sending->sent + wire::input_window));
    send_more(sending);
}

// It is, or it is on its way there.
bool FileDesk::is_elsewhere(WorkerId worker, const Lease& lease, const wire::WantInput& message) {
    const std::string key = message.input < lease.keys.size() ? lease.keys[message.input] : std::string();
    if (key.empty()) return false;
    if (message.missed) ask_again(contents_.missed(worker, key));
    const auto advice =
        contents_.ask({worker, message.task, message.attempt, message.input, message.stream}, key);
    if (advice.answer == NodeContents::Answer::there)
        tell_(worker,
              wire::InputIsAt{message.task, message.attempt, message.input, advice.folder + "/" + key});
    return advice.answer != NodeContents::Answer::send;
}

void FileDesk::on(WorkerId worker, const wire::HaveInput& message) {
    const Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr || message.input >= lease->keys.size() || lease->keys[message.input].empty()) return;
    if (message.folder.size() > longest_folder || !message.folder.starts_with('/')) return;
    ask_again(contents_.has(worker, lease->keys[message.input], message.folder));
}

void FileDesk::ask_again(const NodeContents::Wishes& wishes) {
    for (const auto& [worker, task, attempt, input, stream] : wishes)
        if (find(worker, task, attempt) != nullptr)
            on(worker, wire::WantInput{task, attempt, input, wire::input_window, stream, false});
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
            if (trouble) {
                tell_(sending->worker, wire::NoInput{task, attempt, sending->input, trouble->what});
                const auto found = leases_.find(sending->key);
                if (found != leases_.end() && sending->input < found->second.keys.size())
                    ask_again(contents_.gave_up(sending->worker, found->second.keys[sending->input]));
                return;
            }
            sending->sent += bytes->size();
            traffic_.bytes_sent += static_cast<std::int64_t>(bytes->size());
            tell_(sending->worker,
                  wire::InputPart{task, attempt, sending->input, sending->stream, std::move(*bytes), last});
            if (last) count(sending->transfer());
            send_more(sending);
        };
    });
}

// ---- ends ----

// Half a file goes where it was written. Returned: who may be sent instead what this one was.
NodeContents::Wishes FileDesk::end_streams(Lease& lease) {
    NodeContents::Wishes wishes;
    for (auto& [input, sending] : lease.sending) {
        sending->over = true;
        for (auto& wish : contents_.gave_up(lease.worker, lease.keys[input])) wishes.push_back(wish);
    }
    lease.sending.clear();
    if (!lease.taking) return wishes;
    lease.taking->dropped = true;
    in_background([taking = std::exchange(lease.taking, nullptr)]() -> Background::Then {
        taking->writer.reset();
        return {};
    });
    return wishes;
}

FileDesk::Leases::iterator FileDesk::end(Leases::iterator lease) {
    const auto worker = of_worker_.find(lease->second.worker);
    if (worker->second.erase(lease->first); worker->second.empty()) of_worker_.erase(worker);
    if (lease->second.preparation) lease->second.preparation->dropped = true;
    const auto wishes = end_streams(lease->second);
    const auto next = leases_.erase(lease);
    ask_again(wishes);  // of other leases: none goes by it
    return next;
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
    std::vector<Key> keys;
    if (const auto found = of_worker_.find(worker); found != of_worker_.end())
        keys.assign(found->second.begin(), found->second.end());
    for (const Key& key : keys) drop(key.first, key.second);
    ask_again(contents_.left(worker));
    return keys;
}

void FileDesk::cut(WorkerId worker) {
    contents_.cut(worker);
    const auto found = of_worker_.find(worker);
    if (found == of_worker_.end()) return;
    NodeContents::Wishes wishes;
    for (const Key& key : found->second)
        for (auto& wish : end_streams(leases_.at(key))) wishes.push_back(wish);
    ask_again(wishes);
}

}  // namespace wq::app
