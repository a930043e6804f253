#include "worker/worker_files_task.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/background.h"
#include "base/relative_path.h"
#include "base/remove_tree.h"
#include "files/trees/watched_file.h"

namespace wq::worker {

namespace {

// Some file systems take a millisecond per file.
constexpr std::size_t removed_a_job = 256;

files::trees::Problem refused(const std::string& what) {
    return {files::trees::Problem::Kind::refused, what};
}

std::map<std::size_t, std::string> take_contents(net::messages::LeaseFiles& files) {
    std::map<std::size_t, std::string> contents;
    for (std::size_t n = 0; n < files.inputs.size(); ++n)
        if (auto& content = files.inputs[n].content) contents[n] = std::move(*content);
    for (net::messages::InputFile& input : files.inputs) input.content.reset();
    return contents;
}

net::messages::Lease without_files(net::messages::Lease lease) {
    lease.files.reset();
    return lease;
}

}  // namespace

// ---- the workspace ----

// File permissions do not stop root from writing to a linked input, so root's tasks get copies.
WorkerFiles::Store::Store()
    : sharing(::geteuid() == 0 ? files::trees::Sharing::copied : files::trees::Sharing::linked) {}

bool WorkerFiles::Store::gone() const {
    struct stat status {};
    return ::stat(folder.c_str(), &status) != 0 && errno == ENOENT;
}

files::trees::Trouble WorkerFiles::Store::enter(const std::string& where, const std::string& cache_at) {
    if (where.empty())
        return files::trees::Problem{files::trees::Problem::Kind::unreadable, "the worker has no workspace"};
    // Tasks of lists run in the workspace itself, so our files go to a separate folder.
    folder = where + "/.files";
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return files::trees::problem_of_errno(folder, errno);
    cache_folder = cache_at.empty() ? folder + "/cache" : cache_at;
    cache.emplace(cache_folder);
    return cache->open();
}

void WorkerFiles::Store::remove(const std::string& path) {
    const std::string aside = folder + "/gone." + std::to_string(++left);
    if (::rename(path.c_str(), aside.c_str()) == 0) return leaving.push_back(aside);
    if (errno != ENOENT) remove_tree(AT_FDCWD, path);
}

bool WorkerFiles::Store::remove_some() {
    for (std::size_t most = removed_a_job; !leaving.empty(); leaving.pop_front())
        if (!wq::remove_some(AT_FDCWD, leaving.front(), most)) return true;
    return false;
}

bool WorkerFiles::Store::make_room() {
    if (leaving.empty()) return cache->make_room();
    while (remove_some()) continue;
    return true;
}

bool WorkerFiles::Store::check_some(const net::messages::InputFile& input) {
    return input.kind == net::messages::InputKind::content && !input.key.empty() &&
           cache->check_some(input.key);
}

std::optional<std::string> WorkerFiles::Store::content_key(const net::messages::InputFile& input) {
    std::string key = input.key;
    if (input.kind != net::messages::InputKind::content) {
        const auto found = made.find(input.key);
        if (found == made.end()) return std::nullopt;
        key = found->second;
    }
    if (key.empty() || !cache->has(key)) return std::nullopt;
    return key;
}

// ---- before it runs ----

// Names and keys that lead out of the sandbox or the cache do not come from a manager.
files::trees::Trouble WorkerFiles::Sandbox::check() const {
    const auto wrong = [](const std::string& name) { return relative_path(name) != name; };
    for (const net::messages::InputFile& one : files->inputs) {
        if (wrong(one.name)) return refused("not a name for an input: " + one.name);
        if (!one.key.empty() && !files::trees::is_key(one.key))
            return refused("not a content key: " + one.key);
    }
    for (const net::messages::OutputFile& one : files->outputs)
        if (wrong(one.name)) return refused("not a name for an output: " + one.name);
    return std::nullopt;
}

bool WorkerFiles::Sandbox::make(const Store& store, files::trees::Trouble& trouble) {
    trouble = check();
    if (trouble) return true;
    trouble = store.trouble;
    if (trouble) return false;
    const std::string here =
        store.folder + "/t." + std::to_string(key.first.value() + 1) + "." + std::to_string(key.second);
    remove_tree(AT_FDCWD, here);
    if (::mkdir(here.c_str(), 0700) != 0) {
        trouble = files::trees::problem_of_errno(here, errno);
        return trouble->kind == files::trees::Problem::Kind::full;
    }
    path = here;
    return true;
}

void WorkerFiles::Sandbox::make_folder_of(const std::string& name) const {
    std::error_code error;  // if this fails, the program that writes there fails
    std::filesystem::create_directories(std::filesystem::path(path_of(name)).parent_path(), error);
}

files::trees::Trouble WorkerFiles::Sandbox::place(Store& store, std::size_t nth, bool& placed) {
    const net::messages::InputFile& input = files->inputs[nth];
    make_folder_of(input.name);
    placed = true;
    if (const auto given = contents.find(nth); given != contents.end()) {
        files::trees::TreeWriter content(path_of(input.name), files::trees::TreeWriter::Purpose::sandbox);
        if (auto trouble = content.write(given->second)) return trouble;
        if (auto trouble = content.finish()) return trouble;
        contents.erase(given);
        return std::nullopt;
    }
    // If it is linked into sandboxes of running tasks, they may have changed it.
    const auto content = store.content_key(input);
    placed = content && (store.sharing == files::trees::Sharing::copied || store.cache->fresh(*content));
    if (placed) {
        auto trouble = place(store, *content, path_of(input.name));
        // Somebody has changed the cache, so fetch the input again, once.
        if (!trouble || trouble->kind != files::trees::Problem::Kind::missing ||
            std::exchange(fetched_again, true))
            return trouble;
        store.cache->drop(*content);
        placed = false;
    }
    if (input.kind == net::messages::InputKind::content || ::mkdir(making_folder(path).c_str(), 0700) == 0 ||
        errno == EEXIST)
        return std::nullopt;
    return files::trees::problem_of_errno(making_folder(path), errno);
}

files::trees::Trouble WorkerFiles::Sandbox::place(Store& store, const std::string& content,
                                                  const std::string& to) const {
    auto trouble = store.cache->place(content, to, store.sharing);
    while (trouble && trouble->kind == files::trees::Problem::Kind::full && store.make_room()) {
        remove_tree(AT_FDCWD, to);
        if (!store.cache->has(content)) break;
        trouble = store.cache->place(content, to, store.sharing);
    }
    return trouble;
}

WorkerFiles::Sandbox::Placed WorkerFiles::Sandbox::place_what_is_here(Store& store, std::size_t next) {
    for (; next < files->inputs.size(); ++next) {
        if (store.closed) return {next};
        if (store.check_some(files->inputs[next])) return {next, true};
        bool placed = false;
        auto trouble = place(store, next, placed);
        if (trouble || !placed) return {next, false, std::move(trouble)};
    }
    for (const net::messages::OutputFile& output : files->outputs) make_folder_of(output.name);
    return {next};
}

// Late bytes of a stream that was given up are dropped.
files::trees::Trouble WorkerFiles::Sandbox::take(Store& store, const InputBytes& part) {
    if (part.stream != taken_stream) {
        incoming.reset();
        writer.reset();
        taken_stream = part.stream;
        taken_badly = false;
    }
    if (taken_badly) return std::nullopt;
    const auto trouble = store_part(store, part);
    taken_badly = trouble.has_value();
    if (trouble || part.last) {
        incoming.reset();
        writer.reset();
    }
    return trouble;
}

files::trees::Trouble WorkerFiles::Sandbox::store_part(Store& store, const InputBytes& part) {
    if (part.input.key.empty()) {
        if (!writer) writer.emplace(path_of(part.input.name), files::trees::TreeWriter::Purpose::sandbox);
        auto trouble = writer->write(part.bytes);
        return trouble || !part.last ? trouble : writer->finish();
    }
    if (!incoming) incoming.emplace(*store.cache, part.input.key);
    auto trouble = incoming->write(part.bytes);
    if (!trouble && part.last) trouble = incoming->finish();
    if (trouble && trouble->kind == files::trees::Problem::Kind::refused)  // not the announced bytes
        return files::trees::Problem{files::trees::Problem::Kind::changed,
                                     part.input.name + ": it changed while it was sent"};
    return trouble;
}

// The cache key of a created input is known only after reading it, so it is read twice: for the key, then
// into the cache.
WorkerFiles::Sandbox::Step WorkerFiles::Sandbox::take_made(Store& store,
                                                           const net::messages::InputFile& input) {
    const std::string from = making_path(path);
    struct stat status {};
    if (::lstat(from.c_str(), &status) != 0)
        return {true, files::trees::Problem{files::trees::Problem::Kind::missing,
                                            input.name + ": its command made nothing"}};
    if (input.key.empty()) {
        if (::rename(from.c_str(), path_of(input.name).c_str()) != 0)
            return {true, files::trees::problem_of_errno(path_of(input.name), errno)};
        remove_tree(AT_FDCWD, making_folder(path));
        return {};
    }
    if (!intake) intake.emplace(Intake{files::trees::TreeReader(from), {}, {}});
    std::string bytes;
    auto trouble = intake->reader.read(bytes, bytes_a_job);
    if (!trouble && intake->key.empty()) {
        intake->maker.add(bytes);
        if (!intake->reader.done()) return {false, std::nullopt};
        intake->key = intake->maker.key();
        if (!store.cache->has(intake->key)) {
            intake->reader = files::trees::TreeReader(from);
            incoming.emplace(*store.cache, intake->key);
            return {false, std::nullopt};
        }
    } else if (!trouble) {
        trouble = incoming->write(bytes);
        if (!trouble && !intake->reader.done()) return {false, std::nullopt};
        if (!trouble) trouble = incoming->finish();
    }
    if (!trouble) store.made[input.key] = intake->key;
    intake.reset();
    incoming.reset();
    remove_tree(AT_FDCWD, making_folder(path));
    return {true, trouble};
}

WorkerFiles::Sandbox::Step WorkerFiles::Sandbox::take_from_neighbour(Store& store,
                                                                     const net::messages::InputFile& input) {
    if (!incoming) incoming.emplace(*store.cache, input.key);
    std::string bytes;
    auto trouble = neighbour->read(bytes, bytes_a_job);
    if (!trouble) trouble = incoming->write(bytes);
    if (!trouble && !neighbour->done()) return {false, std::nullopt};
    if (!trouble) trouble = incoming->finish();
    neighbour.reset();
    incoming.reset();
    return {true, trouble};
}

// ---- while it runs ----

// Visits watched outputs in turn, so that one that grows fast does not block the others.
std::optional<WorkerFiles::Sandbox::Grown> WorkerFiles::Sandbox::look_for_growth() {
    auto next = watches.begin();
    if (watch_last) next = watch_full ? watches.lower_bound(*watch_last) : watches.upper_bound(*watch_last);
    watch_last.reset();
    for (; next != watches.end(); ++next) {
        auto& [output, watch] = *next;
        if (watch.over) continue;
        files::trees::FileGrowth growth = files::trees::growth_of(path_of(files->outputs[output].name),
                                                                  watch.sent, net::messages::part_bytes);
        watch.over = growth.shrunk;
        if (growth.bytes.empty()) continue;
        const std::uint64_t offset = watch.sent;
        watch.sent += growth.bytes.size();
        watch_last = output;
        watch_full = growth.bytes.size() == net::messages::part_bytes;
        return Grown{output, offset, std::move(growth.bytes)};
    }
    return std::nullopt;
}

// ---- after it ----

std::vector<std::string> WorkerFiles::Sandbox::look_for_outputs(bool good) {
    std::vector<std::string> missing;
    for (std::uint32_t n = 0; n < files->outputs.size(); ++n) {
        const net::messages::OutputFile& output = files->outputs[n];
        if (good ? !output.on_success : !output.on_failure) continue;
        struct stat status {};
        if (::stat(path_of(output.name).c_str(), &status) == 0)
            outputs.push_back(n);
        else
            missing.push_back(output.name);
    }
    for (std::uint32_t n = 0; n < streams.size(); ++n)
        if (!streams[n].empty()) outputs.push_back(static_cast<std::uint32_t>(files->outputs.size()) + n);
    return missing;
}

std::optional<WorkerFiles::Sandbox::Part> WorkerFiles::Sandbox::read(std::size_t most) {
    if (next_output == outputs.size()) return std::nullopt;
    Part part{outputs[next_output], {}, false, {}};
    if (part.output >= files->outputs.size()) {
        read_stream(part, most);
        return part;
    }
    if (!reader) reader.emplace(path_of(files->outputs[part.output].name));
    const auto trouble = reader->read(part.bytes, most);
    if (trouble) part.unreadable = trouble->what;
    part.last = reader->done();
    if (trouble || part.last) {
        reader.reset();
        ++next_output;
    }
    return part;
}

// As it is: it needs no names and modes.
void WorkerFiles::Sandbox::read_stream(Part& part, std::size_t most) {
    const std::string& stream = streams.at(part.output - files->outputs.size());
    if (!stream_file.valid()) stream_file.reset(::open(stream.c_str(), O_RDONLY | O_CLOEXEC));
    part.bytes.resize(most);
    const ssize_t got = ::read(stream_file.get(), part.bytes.data(), most);
    part.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    struct stat file {};
    const off_t at = ::lseek(stream_file.get(), 0, SEEK_CUR);
    if (got <= 0 || ::fstat(stream_file.get(), &file) != 0)
        part.unreadable =
            "its output cannot be read: " + std::generic_category().message(got < 0 ? errno : EIO);
    part.last = at >= file.st_size;
    if (!part.last && part.unreadable.empty()) return;
    stream_file.reset();
    ++next_output;
}

void WorkerFiles::Sandbox::read_anew() {
    reader.reset();
    stream_file.reset();
    next_output = 0;
}

// Removes linked inputs that the task changed from the cache, and returns unchanged copies to it for the next
// task.
void WorkerFiles::Sandbox::clean_up(Store& store) {
    incoming.reset();
    writer.reset();
    read_anew();
    intake.reset();
    neighbour.reset();
    for (const std::string& stream : streams)
        if (!stream.empty()) ::unlink(stream.c_str());
    if (path.empty()) return;
    if (store.cache)
        for (const net::messages::InputFile& one : files->inputs) {
            if (store.sharing == files::trees::Sharing::copied)
                store.cache->take_back(path_of(one.name));
            else if (const auto content = store.content_key(one))
                store.cache->fresh(*content);
        }
    store.remove(path);
    store.remove(making_folder(path));
}

// ---- the loop's half ----

WorkerFiles::Task::Task(net::messages::Lease given, std::uint64_t nth)
    : half_{{given.task, given.attempt},
            take_contents(given.files.value()),
            std::make_shared<const net::messages::LeaseFiles>(std::move(*given.files))},
      lease(without_files(std::move(given))),
      files(half_.files),
      number(nth),
      watched(std::any_of(files->outputs.begin(), files->outputs.end(),
                          [](const net::messages::OutputFile& one) { return one.watched; })) {
    for (std::uint32_t n = 0; n < files->outputs.size(); ++n)
        if (files->outputs[n].watched) half_.watches[n];
}

void WorkerFiles::Task::add_reason(engine::model::Ending ending, const std::string& why) {
    engine::model::Outcome& outcome = end.outcome;
    if (outcome.ending == engine::model::Ending::raised) {
        outcome.exit_code = std::max(outcome.exit_code, 1);
        outcome.reason += "; " + why;
    } else if (outcome.ending == engine::model::Ending::exited) {
        outcome.reason = why;
    } else {
        return;
    }
    outcome.ending = ending;
}

}  // namespace wq::worker
