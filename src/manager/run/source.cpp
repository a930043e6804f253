#include "manager/run/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "engine/tasklist/list.h"
#include "manager/run/feeder.h"

namespace wq::manager::run {

ArrayEnds::ArrayEnds(const EarlierRun& earlier) : ends_(earlier.ends.begin(), earlier.ends.end()) {
    std::sort(ends_.begin(), ends_.end());
}

void ArrayEnds::find(const engine::tasklist::IndexSet& indexes, TaskId first) {
    std::uint64_t id = first.value();
    for (const engine::tasklist::IndexRange& part : indexes.ranges()) {
        find(part, id);
        id += part.count();
    }
}

void ArrayEnds::find(const engine::tasklist::IndexRange& part, std::uint64_t first) {
    const auto before = [](const End& end, std::uint64_t index) { return end.first < index; };
    const auto from = std::lower_bound(ends_.begin(), ends_.end(), part.first, before);
    const auto to = std::lower_bound(from, ends_.end(), part.last + 1, before);
    const auto note = [&](const End& end) {
        (end.second == EarlierRun::End::done ? done_ : failed_)
            .insert(first + (end.first - part.first) / part.step);
    };
    const auto within = static_cast<std::uint64_t>(to - from);
    looks_ += std::min(within, part.count());
    if (within <= part.count()) {
        for (auto end = from; end != to; ++end)
            if ((end->first - part.first) % part.step == 0) note(*end);
        return;
    }
    auto end = from;
    for (std::uint64_t item = 0; item < part.count(); ++item) {
        const std::uint64_t index = part.first + item * part.step;
        end = std::lower_bound(end, to, index, before);
        if (end != to && end->first == index) note(*end);
    }
}

namespace {

constexpr std::size_t bytes_a_read = 64u << 10;

Error cannot_read(const std::string& path) {
    const int error = errno;
    const std::string hint = error == ENOENT ? "; give the path of a file, or - for standard input" : "";
    return Error{error == EACCES ? ExitCode::not_allowed : ExitCode::bad_input,
                 path + ": cannot be read: " + std::strerror(error) + hint};
}

class InputFile {
  public:
    static Result<InputFile> open(const std::string& path) {
        if (path == "-") return InputFile(STDIN_FILENO);
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (descriptor < 0) return cannot_read(path);
        InputFile file(descriptor);
        file.owned_ = true;
        struct stat info {};
        if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode))
            return Error{ExitCode::bad_input, path + ": is a directory, not a task list"};
        file.stream_ = !S_ISREG(info.st_mode);
        return file;
    }
    InputFile(InputFile&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), owned_(other.owned_), stream_(other.stream_) {}
    InputFile& operator=(InputFile&&) = delete;
    ~InputFile() {
        if (owned_ && descriptor_ >= 0) ::close(descriptor_);
    }

    bool stream() const { return stream_; }
    int descriptor() const { return descriptor_; }
    // Returns the bytes appended to `buffer`; 0 at the end, -1 with errno.
    ssize_t read(std::string& buffer) const {
        buffer.resize(bytes_a_read);
        const ssize_t size = ::read(descriptor_, buffer.data(), buffer.size());
        buffer.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return size;
    }

  private:
    explicit InputFile(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
    bool owned_ = false;
    bool stream_ = true;
};

// Reads the lines of a file, one value each, for --each: without line ends; blank lines are skipped.
class ValueReader {
  public:
    explicit ValueReader(std::string name) : name_(std::move(name)) {}
    template <class F>
    Status feed(std::string_view bytes, F&& value) {
        partial_.append(bytes);
        std::size_t begin = 0;
        for (std::size_t end = partial_.find('\n'); end != std::string::npos;
             end = partial_.find('\n', begin)) {
            if (Status taken = take(std::string_view(partial_).substr(begin, end - begin), value); !taken)
                return taken;
            begin = end + 1;
        }
        partial_.erase(0, begin);
        if (partial_.size() > engine::tasklist::ListReader::max_line_bytes)
            return wrong("is longer than 1 MiB");
        return success();
    }
    template <class F>
    Status finish(F&& value) {
        const std::string last = std::move(partial_);
        partial_.clear();
        return take(last, value);
    }

  private:
    template <class F>
    Status take(std::string_view line, F&& value) {
        ++line_;
        if (line.size() > engine::tasklist::ListReader::max_line_bytes) return wrong("is longer than 1 MiB");
        if (line.find('\0') != std::string_view::npos) return wrong("holds a NUL byte");
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!line.empty()) value(line, line_);
        return success();
    }
    Status wrong(const char* what) const {
        return Error{ExitCode::bad_input, name_ + ":" + std::to_string(line_) + ": the line " + what};
    }
    std::string name_;
    std::string partial_;
    std::uint64_t line_ = 0;
};

// Common code of lists and --each: bytes come from a file, piece by piece.
class FileSource : public Source {
  public:
    FileSource(SourceSpec spec, SourceOptions options, manager::TaskTable& tasks, InputFile file)
        : spec_(std::move(spec)),
          options_(std::move(options)),
          feeder_(options_, tasks, spec_.name()),
          file_(std::move(file)) {}

    int descriptor() const override { return ended_ || !file_.stream() ? -1 : file_.descriptor(); }
    bool ended() const override { return ended_; }
    std::string name() const override { return spec_.name(); }

    Status read(manager::Manager& manager, engine::model::Now now) override {
        if (ended_) return success();
        if (!copy_ && !options_.run_directory.empty()) {
            auto copy = records::journal::RunListCopy::begin(options_.run_directory);
            if (!copy) return copy.error();
            copy_.emplace(std::move(*copy));
        }
        const ssize_t size = file_.read(buffer_);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return success();
        if (size < 0) {
            ended_ = true;
            return cannot_read(spec_.path);
        }
        Status fed = size > 0 ? take(buffer_, manager, now) : finish(manager, now);
        feeder_.flush(manager, now);
        if (!fed) {
            ended_ = true;
            return fed;
        }
        if (copy_) uncopied_ += buffer_;
        const Status copied = copy(size == 0);
        if (size == 0) {
            if (!copied) manager.say("the run directory has no copy of the list: " + copied.error().message);
            ended_ = true;
            feeder_.end(manager, now);
            manager.end_input(now);
        }
        return success();
    }

  protected:
    virtual Status take(std::string_view bytes, manager::Manager& manager, engine::model::Now now) = 0;
    virtual Status finish(manager::Manager& manager, engine::model::Now now) = 0;

    SourceSpec spec_;
    SourceOptions options_;
    Feeder feeder_;

  private:
    // A failed write is retried with the next piece: the copy is for people, and the run goes on without it.
    Status copy(bool last) {
        if (!copy_) return success();
        if (const Status written = copy_->append(uncopied_); !written) return written;
        uncopied_.clear();
        return last ? copy_->finish() : success();
    }

    InputFile file_;
    std::optional<records::journal::RunListCopy> copy_;
    std::string uncopied_;
    std::string buffer_;
    bool ended_ = false;
};

class ListSource : public FileSource {
  public:
    ListSource(SourceSpec spec, SourceOptions options, manager::TaskTable& tasks, InputFile file)
        : FileSource(std::move(spec), std::move(options), tasks, std::move(file)), reader_(spec_.name()) {}

  private:
    Status take(std::string_view bytes, manager::Manager& manager, engine::model::Now now) override {
        items_.clear();
        Status fed = reader_.feed(bytes, items_);
        feeder_.feed(items_, manager, now);
        return fed;
    }
    Status finish(manager::Manager& manager, engine::model::Now now) override {
        items_.clear();
        Status fed = reader_.finish(items_);
        feeder_.feed(items_, manager, now);
        return fed;
    }
    engine::tasklist::ListReader reader_;
    std::vector<engine::tasklist::Item> items_;
};

class EachSource : public FileSource {
  public:
    EachSource(SourceSpec spec, SourceOptions options, manager::TaskTable& tasks, InputFile file)
        : FileSource(std::move(spec), std::move(options), tasks, std::move(file)),
          command_(spec_.command),
          reader_(spec_.name()) {}

  private:
    Status take(std::string_view bytes, manager::Manager& manager, engine::model::Now now) override {
        return reader_.feed(bytes, [&](std::string_view value, std::uint64_t line) {
            feeder_.value(value, line, command_, manager, now);
        });
    }
    Status finish(manager::Manager& manager, engine::model::Now now) override {
        return reader_.finish([&](std::string_view value, std::uint64_t line) {
            feeder_.value(value, line, command_, manager, now);
        });
    }
    engine::tasklist::CommandTemplate command_;
    ValueReader reader_;
};

class ArraySource : public Source {
  public:
    ArraySource(SourceSpec spec, SourceOptions options, manager::TaskTable& tasks,
                engine::tasklist::IndexSet indexes)
        : spec_(std::move(spec)),
          options_(std::move(options)),
          feeder_(options_, tasks),
          indexes_(std::move(indexes)),
          command_(spec_.command) {}
    int descriptor() const override { return -1; }
    bool ended() const override { return ended_; }
    std::string name() const override { return spec_.name(); }
    Status read(manager::Manager& manager, engine::model::Now now) override {
        if (ended_) return success();
        ended_ = true;
        feeder_.indexes(indexes_, command_, manager, now);
        manager.end_input(now);
        return success();
    }

  private:
    SourceSpec spec_;
    SourceOptions options_;
    Feeder feeder_;
    engine::tasklist::IndexSet indexes_;
    engine::tasklist::CommandTemplate command_;
    bool ended_ = false;
};

}  // namespace

std::string SourceSpec::name() const {
    if (kind == Kind::array) return "--array " + indexes;
    return path == "-" ? "stdin" : path;
}

// Uses the file's name, not its folder: a project that was moved or is mounted elsewhere is the same.
std::uint64_t SourceSpec::fingerprint() const {
    const std::string of = kind == Kind::list || kind == Kind::shared
                               ? ""
                               : engine::tasklist::CommandTemplate(command).describe();
    if (kind == Kind::array)  // another index range is the same source
        return engine::tasklist::content_key("array " + of, 0);
    const std::string file = path == "-" ? path : std::filesystem::path(path).filename().string();
    const std::string word = kind == Kind::each     ? "each " + of + " "
                             : kind == Kind::shared ? "shared "
                                                    : "list ";
    return engine::tasklist::content_key(word + file, 0);
}

namespace {

// Visits every task of a list, or value of --each, with its line. False: a stream; nothing was read.
template <class F, class G>
Result<bool> for_each_line(const SourceSpec& spec, F&& task, G&& category) {
    // A named pipe must not be opened twice: its writer would lose its reader.
    struct stat info {};
    if (spec.path == "-" ||
        (::stat(spec.path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
        return false;
    auto file = InputFile::open(spec.path);
    if (!file) return file.error();
    engine::tasklist::ListReader list(spec.name());
    ValueReader values(spec.name());
    std::vector<engine::tasklist::Item> items;
    std::string buffer;
    for (;;) {
        const ssize_t size = file->read(buffer);
        if (size < 0) return cannot_read(spec.path);
        items.clear();
        Status fed = success();
        if (spec.kind == SourceSpec::Kind::list)
            fed = size > 0 ? list.feed(buffer, items) : list.finish(items);
        else
            fed = size > 0 ? values.feed(buffer, task) : values.finish(task);
        if (!fed) return fed.error();
        for (const engine::tasklist::Item& item : items)
            if (const auto* line = std::get_if<engine::tasklist::TaskLine>(&item))
                task(line->command, line->line);
            else if (const auto* said = std::get_if<engine::tasklist::CategorySettings>(&item))
                category(said->category);
        if (size == 0) return true;
    }
}

}  // namespace

Result<SourceSummary> check_source(const SourceSpec& spec) {
    SourceSummary summary;
    summary.complete = spec.kind != SourceSpec::Kind::shared;
    if (!summary.complete) return summary;
    if (spec.kind == SourceSpec::Kind::array) {
        const auto indexes = engine::tasklist::IndexSet::parse(spec.indexes);
        if (!indexes) return indexes.error();
        summary.tasks = indexes->count();
        return summary;
    }
    const auto read = for_each_line(
        spec, [&](std::string_view, std::uint64_t) { ++summary.tasks; },
        [&](const engine::tasklist::CategoryLine& line) {
            ListCategories::foresee(summary.categories, line);
        });
    if (!read) return read.error();
    summary.complete = *read;
    return summary;
}

Result<bool> read_tasks(const SourceSpec& spec, const engine::tasklist::CommandTemplate& command,
                        manager::TaskTable& tasks) {
    if (spec.kind == SourceSpec::Kind::array) {
        auto indexes = engine::tasklist::IndexSet::parse(spec.indexes);
        if (!indexes) return indexes.error();
        tasks.add_indexes(std::move(*indexes), command);
        return true;
    }
    return for_each_line(
        spec,
        [&](std::string_view text, std::uint64_t line) {
            if (spec.kind == SourceSpec::Kind::list)
                tasks.add_line(text, line, 0);
            else
                tasks.add_value(text, line, command);
        },
        [](const engine::tasklist::CategoryLine&) {});
}

Result<std::unique_ptr<Source>> open_source(const SourceSpec& spec, SourceOptions options,
                                            manager::TaskTable& tasks) {
    if (spec.kind == SourceSpec::Kind::array) {
        auto indexes = engine::tasklist::IndexSet::parse(spec.indexes);
        if (!indexes) return indexes.error();
        return std::unique_ptr<Source>(
            std::make_unique<ArraySource>(spec, std::move(options), tasks, std::move(*indexes)));
    }
    auto file = InputFile::open(spec.path);
    if (!file) return file.error();
    if (spec.kind == SourceSpec::Kind::each)
        return std::unique_ptr<Source>(
            std::make_unique<EachSource>(spec, std::move(options), tasks, std::move(*file)));
    return std::unique_ptr<Source>(
        std::make_unique<ListSource>(spec, std::move(options), tasks, std::move(*file)));
}

Result<std::unique_ptr<TaskIndex>> TaskIndex::read(const SourceSpec& spec) {
    std::unique_ptr<TaskIndex> index(new TaskIndex(spec));
    const auto known = read_tasks(spec, index->command_, index->tasks_);
    if (!known) return known.error();
    if (!*known) return std::unique_ptr<TaskIndex>();
    if (spec.kind == SourceSpec::Kind::array)
        index->index_parts(*engine::tasklist::IndexSet::parse(spec.indexes));
    else
        index->index_lines();
    return index;
}

void TaskIndex::index_lines() {
    lines_.reserve(tasks_.size());
    for (std::uint64_t task = 0; task < tasks_.size(); ++task)
        lines_.emplace_back(tasks_.key(TaskId(task)).value, task);
    std::sort(lines_.begin(), lines_.end());
}

void TaskIndex::index_parts(const engine::tasklist::IndexSet& indexes) {
    std::uint64_t task = 0;
    for (const engine::tasklist::IndexRange& range : indexes.ranges()) {
        parts_.push_back({range, task, 0});
        task += range.count();
    }
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.indexes.first < b.indexes.first; });
    std::uint64_t largest = 0;
    for (Part& part : parts_) part.largest = largest = std::max(largest, part.indexes.last);
}

std::optional<TaskId> TaskIndex::find(records::journal::TaskKey key) const {
    const auto line = std::lower_bound(lines_.begin(), lines_.end(), std::pair(key.value, std::uint64_t{0}));
    if (line != lines_.end() && line->first == key.value) return TaskId(line->second);
    // Parts may overlap ("1-9:2,2-8:2"): search backwards from the last part that begins before the index,
    // until no earlier part reaches it.
    auto part =
        std::upper_bound(parts_.begin(), parts_.end(), key.value,
                         [](std::uint64_t index, const Part& one) { return index < one.indexes.first; });
    while (part != parts_.begin() && (--part)->largest >= key.value) {
        const engine::tasklist::IndexRange& indexes = part->indexes;
        const std::uint64_t offset = key.value - indexes.first;
        if (key.value <= indexes.last && offset % indexes.step == 0)
            return TaskId(part->first_task + offset / indexes.step);
    }
    return std::nullopt;
}

}  // namespace wq::manager::run
