// FileDesk: what a lease says of its inputs is found out before it leaves. One input after the other, a few
// megabytes a job.
#include "app/file_desk_parts.h"

namespace wq::app {

namespace {

// In the lease itself: a round trip costs more than so many bytes. Of all inputs together no more than a
// part.
constexpr std::size_t most_inline = 64 << 10;
constexpr std::size_t most_inline_of_all = wire::part_bytes;
// Between two others of the background's jobs.
constexpr std::size_t bytes_a_job = 4 << 20;

std::string name_in_memo(const files::Input& input) {
    if (!input.piece) return input.from;
    return input.from + '\0' + std::to_string(input.piece->first) + '-' + std::to_string(input.piece->last);
}

wire::InputKind kind_of(files::Source source) {
    if (source == files::Source::url) return wire::InputKind::url;
    return source == files::Source::command ? wire::InputKind::command : wire::InputKind::content;
}

// Of a URL or a command, what it is cached by: the same one is not looked at again.
std::string key_of_source(const files::Input& input) {
    files::KeyMaker maker;
    maker.add(input.source == files::Source::url ? "url " : "command ");
    maker.add(input.from);
    return maker.key();
}

}  // namespace

FileDesk::Preparation::Step FileDesk::Preparation::go_on(Keys& keys) {
    for (std::size_t budget = bytes_a_job; lease.inputs.size() < files->inputs.size();) {
        if (budget == 0) return Step::more;
        const files::Input& input = files->inputs[lease.inputs.size()];
        wire::InputFile file;
        file.name = input.name;
        file.kind = kind_of(input.source);
        if (file.kind != wire::InputKind::content) {
            file.from = input.from;
            if (input.cached) file.key = key_of_source(input);
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

void FileDesk::Preparation::leave_off(Keys& keys) {
    if (hashing) keys.in_work.erase(hashing->name);
    hashing.reset();
}

void FileDesk::Preparation::look_at(const files::Input& input, wire::InputFile& file, std::size_t& budget) {
    files::ContentReader reader(input);
    std::string beginning;
    trouble = reader.read(beginning, most_inline + 1);
    budget -= std::min(budget, std::max<std::size_t>(beginning.size(), 4096));
    if (trouble || !reader.done() || bytes_inline + beginning.size() > most_inline_of_all) return;
    bytes_inline += beginning.size();
    file.content = std::move(beginning);
}

FileDesk::Preparation::Step FileDesk::Preparation::make_key(const files::Input& input, wire::InputFile& file,
                                                            Keys& keys, std::size_t& budget) {
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

void FileDesk::prepare(WorkerId worker, TaskId task, Attempt attempt,
                       std::shared_ptr<const files::TaskFiles> files,
                       std::function<void(const Prepared&)> then) {
    drop(task, attempt);
    auto preparation = std::make_shared<Preparation>();
    preparation->key = {task, attempt};
    preparation->files = files;
    preparation->then = std::move(then);
    for (const files::Output& output : files->outputs)
        preparation->lease.outputs.push_back(
            {output.name, output.on_failure, output.on_success, output.watched});
    leases_[{task, attempt}] = {worker, std::move(files), preparation, {}, {}, nullptr};
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
    Lease& lease = leases_.at(preparation->key);
    lease.preparation.reset();
    for (const wire::InputFile& input : preparation->lease.inputs)
        lease.keys.push_back(input.kind == wire::InputKind::content ? input.key : std::string());
    traffic_.bytes_sent += static_cast<std::int64_t>(preparation->bytes_inline);
    for (const wire::InputFile& input : preparation->lease.inputs)
        if (input.content)
            count({preparation->key.first, true, false, input.name, input.content->size(), Duration{0}});
    then(std::move(preparation->lease));
}

void FileDesk::go_on_with_parked() {
    for (const auto& preparation : std::exchange(parked_, {}))
        if (!preparation->dropped) go_on_preparing(preparation);
}

}  // namespace wq::app
