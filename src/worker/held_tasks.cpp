#include "worker/held_tasks.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/model/outcome.h"

namespace wq::worker {

namespace {

void read_back(node::launcher::TaskEnded& end) {
    const auto read = [&](const std::string& path, std::string& text, const char* stream,
                          std::uint64_t total) {
        if (path.empty()) return;
        std::ifstream file(path, std::ios::binary);
        text.resize(std::min(engine::model::most_output_limit, total));
        file.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(file.gcount()));
        engine::model::cut_at(engine::model::most_output_limit, text, stream, total);
        ::unlink(path.c_str());
    };
    read(end.files[0], end.output.out, "stdout", end.outcome.stdout_bytes);
    read(end.files[1], end.output.err, "stderr", end.outcome.stderr_bytes);
}

}  // namespace

// False: over TCP it may be from a manager that we gave up, and must not be answered.
bool HeldTasks::take(const Key& key) {
    return tasks_.erase(key) > 0 || !link_.over_tcp();
}

void HeldTasks::answer_end(node::launcher::TaskEnded& end) {
    const Key key{end.task, end.attempt};
    read_back(end);
    if (!take(key)) return;
    link_.answer(net::messages::Ended{end.task, end.attempt, std::move(end.outcome), std::move(end.output)},
                 key);
}

void HeldTasks::answer_loss(Key key, const std::string& why) {
    node::launcher::TaskEnded ended{key.first, key.second, {}, {}};
    ended.outcome.ending = engine::model::Ending::worker_lost;
    ended.outcome.reason = why;
    answer_end(ended);
}

void HeldTasks::give_back(Key key) {
    if (take(key)) link_.answer(net::messages::GivenBack{key.first, key.second}, key);
}

std::vector<HeldTasks::Key> HeldTasks::keys() const {
    std::vector<Key> keys;
    for (const auto& [key, ticket] : tasks_) keys.push_back(key);
    return keys;
}

}  // namespace wq::worker
