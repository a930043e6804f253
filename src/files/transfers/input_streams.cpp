#include "files/transfers/input_streams.h"

#include <algorithm>

#include "files/trees/task_files.h"

namespace wq::files::transfers {

namespace {
constexpr std::size_t most_keys = 10'000;  // per worker: about 2 MB here
constexpr int most_misses = 3;
}  // namespace

void NodeContents::joined(WorkerId worker, std::string node) {
    if (node.empty() || members_.contains(worker)) return;
    ++on_node_[node];
    members_[worker].node = std::move(node);
}

NodeContents::Content* NodeContents::find(WorkerId worker, const std::string& key) {
    const auto member = members_.find(worker);
    if (member == members_.end()) return nullptr;
    const auto found = contents_.find({member->second.node, key});
    return found == contents_.end() ? nullptr : &found->second;
}

const WorkerId* NodeContents::holder_for(WorkerId worker, const Content& content) const {
    for (const WorkerId& holder : content.holders)
        if (holder != worker) return &holder;
    return nullptr;
}

NodeContents::Advice NodeContents::ask(const Wish& wish, const std::string& key) {
    const auto found = members_.find(wish.worker);
    if (found == members_.end() || alone(found->second)) return {};
    Member& member = found->second;
    Content& content = contents_[{member.node, key}];
    if (const WorkerId* const holder = holder_for(wish.worker, content))
        return {Answer::there, members_.at(*holder).folder};
    if (content.receiver && *content.receiver != wish.worker) {
        std::erase_if(content.waiting, [&](const Wish& other) {
            return other.worker == wish.worker && other.task == wish.task && other.attempt == wish.attempt &&
                   other.input == wish.input;
        });
        content.waiting.push_back(wish);
        member.awaited.insert(key);
        return {Answer::wait, {}};
    }
    content.receiver = wish.worker;
    keep(wish.worker, member, key);
    return {};
}

void NodeContents::keep(WorkerId worker, Member& member, const std::string& key) {
    member.keys.insert(key);
    if (member.keys.size() <= most_keys) return;
    const std::string other =
        *member.keys.begin() != key ? *member.keys.begin() : *std::next(member.keys.begin());
    const Content* const content = find(worker, other);
    if (content == nullptr || content->receiver == worker) return;  // it is on its way
    static_cast<void>(end_of_receiving(worker, other, Received::nothing));
}

NodeContents::Wishes NodeContents::end_of_receiving(WorkerId worker, const std::string& key,
                                                    Received received) {
    Content* const content = find(worker, key);
    if (content == nullptr) return {};
    Member& member = members_.at(worker);
    const bool has = received == Received::whole;
    if (has) {
        content->holders.insert(worker);
        member.keys.insert(key);
    } else {
        content->holders.erase(worker);
        member.keys.erase(key);
    }
    Wishes wishes;
    if (has || content->receiver == worker) wishes.swap(content->waiting);
    if (content->receiver == worker) content->receiver.reset();
    for (const Wish& wish : wishes) members_.at(wish.worker).awaited.erase(key);
    if (content->holders.empty() && !content->receiver) contents_.erase({member.node, key});
    return wishes;
}

NodeContents::Wishes NodeContents::has(WorkerId worker, const std::string& key, std::string folder) {
    const auto found = members_.find(worker);
    if (found == members_.end() || (alone(found->second) && find(worker, key) == nullptr)) return {};
    found->second.folder = std::move(folder);
    contents_.try_emplace({found->second.node, key});
    keep(worker, found->second, key);
    return end_of_receiving(worker, key, Received::whole);
}

NodeContents::Wishes NodeContents::gave_up(WorkerId worker, const std::string& key) {
    const Content* const content = find(worker, key);
    if (content == nullptr || content->receiver != worker) return {};
    return end_of_receiving(worker, key, Received::nothing);
}

void NodeContents::cut(WorkerId worker) {
    const auto found = members_.find(worker);
    if (found == members_.end()) return;
    for (const std::string& key : std::exchange(found->second.awaited, {}))
        if (Content* const content = find(worker, key))
            std::erase_if(content->waiting, [&](const Wish& wish) { return wish.worker == worker; });
}

NodeContents::Wishes NodeContents::left(WorkerId worker) {
    const auto found = members_.find(worker);
    if (found == members_.end()) return {};
    cut(worker);
    Wishes all;
    for (const std::string& key : std::set<std::string>(found->second.keys)) {
        const Wishes some = end_of_receiving(worker, key, Received::nothing);
        all.insert(all.end(), some.begin(), some.end());
    }
    if (const auto node = on_node_.find(found->second.node); --node->second == 0) on_node_.erase(node);
    members_.erase(found);
    return all;
}

NodeContents::Wishes NodeContents::missed(WorkerId worker, const std::string& key) {
    const auto found = members_.find(worker);
    if (found == members_.end()) return {};
    if (++found->second.misses > most_misses) return left(worker);
    const Content* const content = find(worker, key);
    const WorkerId* const holder = content == nullptr ? nullptr : holder_for(worker, *content);
    return holder == nullptr ? Wishes{} : end_of_receiving(*holder, key, Received::nothing);
}

namespace {
constexpr std::size_t longest_folder = 4096;
}

struct InputStreams::Stream {
    WorkerId worker;
    LeaseKey key;
    std::uint32_t input = 0;
    std::uint32_t number = 0;                       // as requested by the worker
    std::shared_ptr<const trees::TaskFiles> files;  // keeps buffers, which are not copied
    trees::ContentReader reader;                    // used on the background thread
    Instant began;
    std::uint64_t sent = 0;
    std::uint64_t upto = 0;
    bool busy = false;
    bool over = false;

    Transfer transfer() const {
        const trees::InputFile& file = files->inputs[input];
        return {key.first, true, file.cached, file.name, sent, instant_now() - began};
    }
};

void InputStreams::open(WorkerId worker, LeaseKey key, std::shared_ptr<const trees::TaskFiles> files,
                        std::vector<std::string> keys) {
    leases_.insert_or_assign(key, Lease{worker, std::move(files), std::move(keys), {}});
}

InputStreams::Lease* InputStreams::find(WorkerId worker, TaskId task, Attempt attempt) {
    const auto found = leases_.find({task, attempt});
    return found == leases_.end() || found->second.worker != worker ? nullptr : &found->second;
}

// ---- what workers ask for ----

void InputStreams::on(WorkerId worker, const net::messages::WantInput& message) {
    const net::messages::NoInput none{message.task, message.attempt, message.input,
                                      "the manager has no such input"};
    Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr || message.input >= lease->files->inputs.size()) return send_(worker, none);
    const trees::InputFile& input = lease->files->inputs[message.input];
    if (trees::made_by_worker(input.source)) return send_(worker, none);
    const auto known = lease->streams.find(message.input);
    std::shared_ptr<Stream> stream = known == lease->streams.end() ? nullptr : known->second;
    if (!stream || stream->number != message.stream) {
        if (stream) stream->over = true;
        if (is_elsewhere(worker, *lease, message)) return;
        stream = std::make_shared<Stream>(Stream{worker,
                                                 {message.task, message.attempt},
                                                 message.input,
                                                 message.stream,
                                                 lease->files,
                                                 trees::ContentReader(input),
                                                 instant_now()});
        lease->streams[message.input] = stream;
    }
    stream->upto = std::max(stream->upto, std::min(message.upto, stream->sent + net::messages::input_window));
    send_more(stream);
}

// The content is on another worker of the node, or on its way there.
bool InputStreams::is_elsewhere(WorkerId worker, const Lease& lease,
                                const net::messages::WantInput& message) {
    const std::string key = message.input < lease.keys.size() ? lease.keys[message.input] : std::string();
    if (key.empty()) return false;
    if (message.missed) ask_again(contents_.missed(worker, key));
    const auto advice =
        contents_.ask({worker, message.task, message.attempt, message.input, message.stream}, key);
    if (advice.answer == NodeContents::Answer::there)
        send_(worker, net::messages::InputIsAt{message.task, message.attempt, message.input,
                                               advice.folder + "/" + key});
    return advice.answer != NodeContents::Answer::send;
}

void InputStreams::on(WorkerId worker, const net::messages::HaveInput& message) {
    const Lease* const lease = find(worker, message.task, message.attempt);
    if (lease == nullptr || message.input >= lease->keys.size() || lease->keys[message.input].empty()) return;
    if (message.folder.size() > longest_folder || !message.folder.starts_with('/')) return;
    ask_again(contents_.has(worker, lease->keys[message.input], message.folder));
}

void InputStreams::ask_again(const NodeContents::Wishes& wishes) {
    for (const auto& [worker, task, attempt, input, stream] : wishes)
        if (find(worker, task, attempt) != nullptr)
            on(worker,
               net::messages::WantInput{task, attempt, input, net::messages::input_window, stream, false});
}

// ---- sending ----

void InputStreams::send_more(const std::shared_ptr<Stream>& stream) {
    if (stream->busy || stream->over || stream->sent >= stream->upto) return;
    stream->busy = true;
    const auto most = static_cast<std::size_t>(
        std::min<std::uint64_t>(net::messages::part_bytes, stream->upto - stream->sent));
    jobs_.post([this, stream, most]() -> Background::Then {
        auto bytes = std::make_shared<std::string>();
        const trees::Trouble trouble = stream->reader.read(*bytes, most);
        const bool last = stream->reader.done();
        return [this, stream, bytes, trouble, last] {
            stream->busy = false;
            if (stream->over) return;
            stream->over = trouble || last;
            if (trouble) return failed(*stream, trouble->what);
            sent(stream, std::move(*bytes), last);
        };
    });
}

void InputStreams::sent(const std::shared_ptr<Stream>& stream, std::string bytes, bool last) {
    stream->sent += bytes.size();
    tally_.sent(bytes.size());
    const auto [task, attempt] = stream->key;
    send_(stream->worker,
          net::messages::InputPart{task, attempt, stream->input, stream->number, std::move(bytes), last});
    if (last) tally_.count(stream->transfer());
    send_more(stream);
}

void InputStreams::failed(Stream& stream, const std::string& why) {
    const auto [task, attempt] = stream.key;
    send_(stream.worker, net::messages::NoInput{task, attempt, stream.input, why});
    const auto found = leases_.find(stream.key);
    if (found != leases_.end() && stream.input < found->second.keys.size())
        ask_again(contents_.gave_up(stream.worker, found->second.keys[stream.input]));
}

// ---- ends ----

// `wishes`: requests that waited for these streams.
void InputStreams::end_streams(Lease& lease, NodeContents::Wishes& wishes) {
    for (auto& [input, stream] : std::exchange(lease.streams, {})) {
        stream->over = true;
        for (auto& wish : contents_.gave_up(lease.worker, lease.keys[input])) wishes.push_back(wish);
    }
}

void InputStreams::close(LeaseKey key) {
    const auto lease = leases_.find(key);
    if (lease == leases_.end()) return;
    NodeContents::Wishes wishes;
    end_streams(lease->second, wishes);
    leases_.erase(lease);
    ask_again(wishes);
}

void InputStreams::cut(WorkerId worker, const std::set<LeaseKey>& leases) {
    contents_.cut(worker);
    NodeContents::Wishes wishes;
    for (const LeaseKey& key : leases)
        if (const auto lease = leases_.find(key); lease != leases_.end()) end_streams(lease->second, wishes);
    ask_again(wishes);
}

}  // namespace wq::files::transfers
