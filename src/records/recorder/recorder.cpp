#include "records/recorder/recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <variant>

#include "base/descriptor.h"
#include "base/read_write.h"
#include "base/shortage.h"
#include "base/signals.h"
#include "records/journal/append_file.h"
#include "records/recorder/derived.h"

namespace wq::records::recorder {

Result<JournalWriter> JournalWriter::open(const std::string& run_directory, const journal::RunHeader& header,
                                          std::uint64_t valid_bytes) {
    const std::string path = run_directory + "/journal";
    if (valid_bytes == 0) {
        // Written by a rename, so that no journal has half a header.
        if (auto made = journal::write_atomically(path, journal::encode_header(header)); !made)
            return made.error();
        if (!sync_folder(run_directory)) return journal::write_error(run_directory, errno);
        valid_bytes = UINT64_MAX;
    }
    auto output = journal::OutputLog::open(run_directory);
    if (!output) return output.error();
    auto journal = journal::AppendFile::open(path, valid_bytes);
    if (!journal) return journal.error();
    return JournalWriter(std::move(*output), std::move(*journal));
}

void JournalWriter::stage(const Recorded& ended) {
    batch_.add(ended.record, ended.output);
    journal_bytes_ += journal::encode_record(ended.record);
}

Status JournalWriter::write() {
    if (lost_) return *lost_;
    if (step_ == Step::data) {
        if (auto written = output_.append_data(batch_.data()); !written) return written;
        step_ = Step::index;
    }
    if (step_ == Step::index) {
        if (auto written = output_.append_index(batch_.index()); !written) return written;
        step_ = Step::journal;
    }
    if (auto written = journal_.append(journal_bytes_); !written) return written;
    unsynced_ = true;
    step_ = Step::data;
    batch_ = journal::OutputBatch(output_.end());
    journal_bytes_.clear();
    return success();
}

Status JournalWriter::sync() {
    if (lost_) return *lost_;
    if (!unsynced_) return success();
    auto synced = output_.sync();
    if (synced) synced = journal_.sync();
    if (synced) {
        unsynced_ = false;
    } else {
        lost_ = Error{ExitCode::interrupted,
                      synced.error().message + "; what was written since the last sync may be lost"};
        return *lost_;
    }
    return synced;
}

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr auto retry_interval = milliseconds(500);
constexpr std::size_t batch_items = 1024;
constexpr std::uint64_t batch_bytes = 1u
                                      << 20;  // small, so that a nearly full disk still takes whole batches

struct Transaction {
    WallMicros when = 0;
    std::string text;
};
using Item =
    std::variant<Recorded, journal::WorkerRecord, journal::Sample, journal::CategoryRecord,
                 journal::AskRecord, journal::WorkerChangeRecord, journal::WaitingRecord, Transaction>;

std::uint64_t weight(const Item& item) {
    if (const auto* ended = std::get_if<Recorded>(&item)) {
        return 256 + ended->output.out.size() + ended->output.err.size() + ended->command.size();
    }
    return 256;
}

class RecorderThread final : public Recorder {
  public:
    RecorderThread(JournalWriter truth, std::unique_ptr<Derived> derived, Wake event,
                   const RecorderOptions& options)
        : write_interval_(options.write_interval),
          flush_interval_(options.flush_interval),
          sync_interval_(options.sync_interval),
          journal_writer_(std::move(truth)),
          derived_(std::move(derived)),
          event_(std::move(event)) {
        collect_notices();
        for (std::size_t id = 0; id < options.categories.size(); ++id)
            category(CategoryId(static_cast<std::uint32_t>(id)), options.categories[id]);
        // Also blocks SIGXFSZ, which a file size limit sends to the writer; the write then fails with EFBIG.
        const SignalsHeld held;
        thread_ = std::thread([this] { run(); });
    }
    ~RecorderThread() override { static_cast<void>(close_once()); }

    void task(Recorded ended) override { push(std::move(ended)); }
    void worker(const journal::WorkerRecord& record) override { push(record); }
    void sample(const journal::Sample& sample) override { push(sample); }
    void category(CategoryId id, std::string name) override {
        push(journal::CategoryRecord{id, std::move(name)});
    }
    void category_changed(const journal::CategoryRecord& record) override { push(record); }
    void ask(const journal::AskRecord& record) override { push(record); }
    void worker_changed(const journal::WorkerChangeRecord& record) override { push(record); }
    void waiting(const journal::WaitingRecord& record) override { push(record); }
    void transaction(WallMicros when, std::string text) override { push(Transaction{when, std::move(text)}); }

    void write_at_once() override {
        {
            const std::lock_guard lock(mutex_);
            at_once_ = true;
        }
        work_.notify_one();
    }

    std::uint64_t acknowledged() const override { return acknowledged_.load(std::memory_order_acquire); }
    std::uint64_t backlog_bytes() const override { return backlog_.load(std::memory_order_relaxed); }
    int descriptor() const override { return event_.descriptor(); }

    void settle() override { event_.clear(); }

    std::optional<std::string> trouble() const override {
        const std::lock_guard lock(mutex_);
        return trouble_;
    }
    std::vector<std::string> notices() override {
        const std::lock_guard lock(mutex_);
        return std::exchange(notices_, {});
    }
    Status close() override { return close_once(); }
    Unrecorded unrecorded() const override {
        Unrecorded lost;
        for (const Item& item : waiting_) {
            const auto* ended = std::get_if<Recorded>(&item);
            if (ended == nullptr || !ended->record.final) continue;
            ++lost.tasks;
            if (!ended->record.outcome.succeeded()) ++lost.failed;
        }
        return lost;
    }

  private:
    template <class T>
    void push(T&& value) {
        Item item(std::forward<T>(value));
        backlog_.fetch_add(weight(item), std::memory_order_relaxed);
        bool wake = false;
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back(std::move(item));
            wake = queue_.size() == (idle_ ? 1 : batch_items);
        }
        if (wake) work_.notify_one();
    }

    void run() {
        for (bool closing = false; !closing;) {
            closing = take();
            write_batches();
            if (const auto now = Clock::now(); now >= next_flush_ || closing) keep_time(now);
        }
        if (waiting_.empty()) note_trouble(journal_writer_.sync());
        derived_->close();
        collect_notices();
    }

    // Waits for work and takes it. Returns true if the recorder is closing.
    bool take() {
        std::unique_lock lock(mutex_);
        const auto next_write =
            waiting_.empty() ? written_at_ + write_interval_ : Clock::now() + retry_interval;
        work_.wait_until(lock, next_write, [&] {
            return closing_ || (waiting_.empty() && (at_once_ || queue_.size() >= batch_items));
        });
        if (waiting_.empty()) wait_while_idle(lock);
        at_once_ = false;
        taken_.swap(queue_);
        const bool closing = closing_;
        lock.unlock();
        for (Item& item : taken_) waiting_.push_back(std::move(item));
        taken_.clear();
        return closing;
    }

    void wait_while_idle(std::unique_lock<std::mutex>& lock) {
        const auto due = [&] { return closing_ || !queue_.empty(); };
        idle_ = true;
        if (derived_->wants_flush() || unsynced_)
            work_.wait_until(lock, next_flush_, due);
        else
            work_.wait(lock, due);
        idle_ = false;
    }

    void write_batches() {
        while (!waiting_.empty()) {
            if (staged_ == 0) stage_batch();
            const auto written = journal_writer_.write();
            note_trouble(written);
            if (!written) return;
            unsynced_ = true;
            derive_batch();
            written_at_ = Clock::now();
        }
    }

    void stage_batch() {
        std::uint64_t bytes = 0;
        for (; staged_ < waiting_.size() && staged_ < batch_items && bytes < batch_bytes; ++staged_) {
            const Item& item = waiting_[staged_];
            bytes += weight(item);
            std::visit([this](const auto& value) { stage(value); }, item);
        }
    }

    template <class Record>
    void stage(const Record& record) {
        journal_writer_.stage(record);
    }
    void stage(const Transaction&) {}  // not in the journal

    void derive_batch() {
        std::uint64_t tasks = 0;
        std::uint64_t bytes = 0;
        for (; staged_ > 0; --staged_) {
            const Item& item = waiting_.front();
            bytes += weight(item);
            tasks += std::holds_alternative<Recorded>(item) ? 1 : 0;
            std::visit([this](const auto& value) { derive(value); }, item);
            waiting_.pop_front();
        }
        derived_->write_logs();
        backlog_.fetch_sub(bytes, std::memory_order_relaxed);
        acknowledged_.fetch_add(tasks, std::memory_order_release);
        collect_notices();
        if (tasks > 0) signal();
    }

    template <class Record>
    void derive(const Record& record) {
        derived_->record(record);
    }
    void derive(const Transaction& entry) { derived_->transaction(entry.when, entry.text); }

    void keep_time(Clock::time_point now) {
        derived_->flush();
        derived_->write_logs();
        collect_notices();
        if (unsynced_ && now >= next_sync_) {
            // A successful sync does not clear the trouble: writing may still be blocked.
            const auto synced = journal_writer_.sync();
            if (!synced) note_trouble(synced);
            unsynced_ = !synced.ok();
            next_sync_ = now + sync_interval_;
        }
        next_flush_ = now + flush_interval_;
    }

    void note_trouble(const Status& status) {
        std::optional<std::string> line;
        if (!status) line = status.error().message;
        {
            const std::lock_guard lock(mutex_);
            if (trouble_ == line) return;
            trouble_ = std::move(line);
        }
        signal();
    }

    void collect_notices() {
        auto lines = derived_->take_notices();
        if (lines.empty()) return;
        {
            const std::lock_guard lock(mutex_);
            for (std::string& line : lines) notices_.push_back(std::move(line));
        }
        signal();
    }

    void signal() { event_.set(); }

    Status close_once() {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        work_.notify_one();
        if (thread_.joinable()) thread_.join();
        if (auto line = trouble()) return Error{ExitCode::interrupted, *line};
        return success();
    }

    // Used by the thread alone, until it has ended.
    const Duration write_interval_;
    const Duration flush_interval_;
    const Duration sync_interval_;
    JournalWriter journal_writer_;
    std::unique_ptr<Derived> derived_;
    std::vector<Item> taken_;
    std::deque<Item> waiting_;  // not yet in the journal, in order
    std::size_t staged_ = 0;    // number of these in the current batch
    bool unsynced_ = false;
    Clock::time_point written_at_{};
    Clock::time_point next_flush_ = Clock::now() + flush_interval_;
    Clock::time_point next_sync_ = Clock::now() + sync_interval_;

    // Shared.
    Wake event_;
    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::vector<Item> queue_;
    bool idle_ = false;  // the thread waits for a first record
    bool at_once_ = false;
    bool closing_ = false;
    std::optional<std::string> trouble_;
    std::vector<std::string> notices_;
    std::atomic<std::uint64_t> acknowledged_{0};
    std::atomic<std::uint64_t> backlog_{0};
    std::thread thread_;
};

struct NoVisitor : journal::JournalVisitor {
    void task(const journal::TaskRecord&) override {}
    void worker(const journal::WorkerRecord&) override {}
    void sample(const journal::Sample&) override {}
};

}  // namespace

Result<std::unique_ptr<Recorder>> open_recorder(const RecorderOptions& options, const ListedTasks* listed) {
    const SignalsHeld held;
    const std::string journal = options.run_directory + "/journal";
    journal::RunHeader header{journal::RunHeader{}.version, options.run_id, options.list_name,
                              options.source_fingerprint, wall_now()};
    std::uint64_t valid_bytes = 0;
    struct stat status {};
    if (::stat(journal.c_str(), &status) == 0 && status.st_size > 0) {
        NoVisitor nobody;
        const auto scan = journal::scan_journal(journal, nobody);
        if (!scan) return scan.error();
        header = scan->header;
        valid_bytes = scan->valid_bytes;
    }
    auto truth = JournalWriter::open(options.run_directory, header, valid_bytes);
    if (!truth) return truth.error();
    auto derived = std::make_unique<Derived>(options, header, valid_bytes > 0, listed);
    Wake event;
    if (!event.valid()) return refused_by_system("eventfd");
    return std::unique_ptr<Recorder>(
        std::make_unique<RecorderThread>(std::move(*truth), std::move(derived), std::move(event), options));
}

}  // namespace wq::records::recorder
