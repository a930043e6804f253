#include "slices/queue/remote_worker.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "api/setup_error.h"
#include "base/random_bits.h"
#include "base/units.h"
#include "net/frames/backoff.h"
#include "net/frames/contact.h"
#include "records/journal/run_status.h"
#include "slices/claims/line_threads.h"
#include "slices/queue/line_printer.h"
#include "slices/queue/ranks.h"
#include "slices/queue/record_requests.h"
#include "slices/sources/source_file.h"

namespace wq::slices::queue {

namespace {

constexpr Duration least_wait = std::chrono::milliseconds(50);
constexpr Duration longest_wait = std::chrono::seconds(5);
constexpr Duration least_time = std::chrono::seconds(5);  // for one try

class RemoteWorker final : public Member {
  public:
    RemoteWorker(std::unique_ptr<Pass> pass, manager::run::NodeTickets tickets,
                 std::unique_ptr<claims::TakerLine> line, Say say)
        : pass_(std::move(pass)),
          tickets_(std::move(tickets)),
          line_(std::move(line)),
          records_(line_->questions(), std::move(say)) {}
    const Pass& pass() const override { return *pass_; }
    RecordSource& records() override { return records_; }
    claims::Taker& taker() override { return line_->taker(); }

  private:
    std::unique_ptr<Pass> pass_;
    manager::run::NodeTickets tickets_;
    std::unique_ptr<claims::TakerLine> line_;
    RemoteRecords records_;
};

std::string name_of_worker() {
    return "worker " + records::journal::host_name() + " " + std::to_string(::getpid()) + " " +
           std::to_string(random_bits());
}

claims::TakerOptions options_of_worker(const std::string& node, bool waits) {
    claims::TakerOptions options;
    options.node = node;
    options.rank = claims::no_rank;
    options.wait_for_others = waits;
    options.clock = [] { return wall_now(); };
    return options;
}

// A worker before it knows what to take.
struct Connected {
    std::unique_ptr<claims::TakerLine> line;
    std::unique_ptr<Pass> pass;
};

Result<Connected> connect(const SliceWorkerOptions& options, manager::run::NodeTickets& tickets,
                          Instant until) {
    const std::string& contact_file = options.contact;
    const auto contact = net::frames::read_contact(contact_file);
    if (!contact) return contact.error();
    auto dial = net::frames::dial_options(*contact);
    dial.limits = claims::taker_limits();
    auto line = claims::TakerLine::open(std::move(dial), *tickets.pool,
                                        options_of_worker(tickets.name, options.wait_for_others));
    if (!line) return line.error();
    if (const Status joined = (*line)->join(until); !joined)
        return Error{joined.error().code, "cannot reach the queue of " + contact_file + ": " +
                                              net::frames::in_one_line(joined.error().message) +
                                              " (if its run has ended, wait for the file of the next one)"};
    const auto questions = (*line)->questions();
    const auto answer = questions->answer_to(questions->ask(encode(AskPass{})), until);
    if (!answer) return answer.error();
    const auto bytes = pass_of(*answer);
    if (!bytes) return bytes.error();
    auto pass = Pass::from_bytes(*bytes);
    if (!pass) return pass.error();
    return Connected{std::move(*line), std::move(*pass)};
}

// The queue may begin later than its workers, and its file may be of an earlier one, with another key.
bool may_change(const Error& error, const std::string& contact_file) {
    if (error.code == ExitCode::unreachable) return true;
    return error.code == ExitCode::not_allowed && net::frames::read_contact(contact_file).ok();
}

Connected connect_in_time(const SliceWorkerOptions& options, manager::run::NodeTickets& tickets,
                          const Say& say) {
    net::frames::Backoff backoff(least_wait, longest_wait, random_bits());
    const Instant until =
        instant_now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.wait));
    bool has_said = false;
    for (;;) {
        // Once at least, whatever the time.
        auto connected = connect(options, tickets, std::max(until, instant_now() + least_time));
        if (connected) return std::move(*connected);
        if (!std::exchange(has_said, true) && options.wait > 0)
            say("waits up to " + format_duration(until - instant_now()) +
                " for the queue: " + connected.error().message);
        const Duration pause = backoff.next();
        if (!may_change(connected.error(), options.contact) || instant_now() + pause >= until)
            throw api::setup_error(connected.error());
        ::poll(nullptr, 0,
               static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(pause).count()));
    }
}

}  // namespace

std::unique_ptr<Member> open_as_worker(const SliceWorkerOptions& options) {
    if (!(options.wait >= 0 && options.wait <= 1e9))
        throw SetupError("a worker waits 0 to 10^9 seconds for its queue", 64);
    const Say say = printer_or_stderr(options.say);
    manager::run::NodeTickets tickets = own_tickets(name_of_worker());
    Connected connected = connect_in_time(options, tickets, printer_with_name(SliceOptions().name, say));
    const std::string name = line_for_message(connected.pass->options().name);
    return std::make_unique<RemoteWorker>(std::move(connected.pass), std::move(tickets),
                                          std::move(connected.line), printer_with_name(name, say));
}

namespace {

constexpr std::uint64_t most_records_at_once = 1 << 20;  // of an answer

Result<std::string> ask(claims::Questions& giver, const Request& request) {
    return giver.answer_to(giver.ask(encode(request)));
}

// One that grows may be any other of that name.
bool is_here(const Slice& slice, const FoundFile& found) {
    if (!found.stamp || found.stamp->growing) return false;
    const auto file = file_of(slice, found.stamp);
    return file.ok() && sample_of(*file) == found.sample;
}

// The records of a reader of the other process. The next answer is on its way while these are used.
class RemoteReader final : public sources::RecordReader {
  public:
    RemoteReader(std::shared_ptr<claims::Questions> giver, std::uint64_t reader, OpenedReader opened)
        : RecordReader(std::move(opened.key_prefix)),
          giver_(std::move(giver)),
          reader_(reader),
          row_type_(std::move(opened.row_type)) {
        ask_on();
    }
    ~RemoteReader() override {
        drop_answer();
        giver_->forget(giver_->ask(encode(CloseReader{reader_})));
    }
    RemoteReader(const RemoteReader&) = delete;
    RemoteReader& operator=(const RemoteReader&) = delete;

    std::string row_type() const override { return row_type_; }
    std::uint64_t record_bytes() const override { return record_bytes_; }
    bool may_wait() const override { return true; }

    Result<sources::RecordBlock> read(std::size_t most) override {
        while (there() < most && asked_) receive();
        if (there() == 0 && wrong_) return *wrong_;
        sources::RecordBlock block;
        block.size = std::min(most, there());
        block.first = next_;
        block.bytes = bytes_;
        if (starts_.empty()) {
            block.record_bytes = record_bytes_;
            block.bytes = block.bytes.substr(used_ * record_bytes_, block.size * record_bytes_);
        } else {
            block.starts = std::span(starts_).subspan(used_, block.size + 1);
        }
        used_ += block.size;
        next_ += block.size;
        return block;
    }

    Status move_to(const sources::RecordSpan& place) override {
        drop_answer();
        bytes_.clear(), starts_.clear();
        size_ = used_ = 0;
        wrong_.reset();
        const auto moved = ask(*giver_, MoveReader{reader_, place});
        if (!moved) return moved.error();
        if (const Status good = status_of(*moved); !good) return good;
        ask_on();
        return success();
    }

  private:
    std::size_t there() const { return size_ - used_; }
    void ask_on() { asked_ = giver_->ask(encode(ReadOn{reader_})); }
    void drop_answer() {
        if (const auto asked = std::exchange(asked_, std::nullopt)) giver_->forget(*asked);
    }

    void receive() {
        const auto answer = giver_->answer_to(*std::exchange(asked_, std::nullopt));
        auto some = answer ? records_of(*answer) : answer.error();
        if (some && some->size > 0 && !fits(*some))
            some = Error{ExitCode::bad_input, "the records received for " + key_prefix() + " cannot be read"};
        if (!some) wrong_ = some.error();
        if (!some || some->size == 0) return;
        ask_on();
        drop_used();
        if (size_ == 0) next_ = some->first;
        append(*some);
    }

    // All records of a reader have the same form.
    bool fits(const SomeRecords& some) const {
        if (some.size > most_records_at_once) return false;
        return size_ == 0 || (some.lengths.empty() == starts_.empty() &&
                              (!starts_.empty() || some.record_bytes == record_bytes_));
    }

    void append(const SomeRecords& some) {
        if (some.lengths.empty()) {
            record_bytes_ = some.record_bytes;
        } else {
            if (starts_.empty()) starts_.push_back(bytes_.size());
            for (const std::uint64_t length : some.lengths) starts_.push_back(starts_.back() + length);
        }
        bytes_ += some.bytes;
        size_ += some.size;
    }

    void drop_used() {
        if (used_ == 0) return;
        if (starts_.empty()) {
            bytes_.erase(0, used_ * record_bytes_);
        } else {
            const std::size_t gone = starts_[used_];
            bytes_.erase(0, gone);
            starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(used_));
            for (std::size_t& start : starts_) start -= gone;
        }
        size_ -= std::exchange(used_, 0);
    }

    std::shared_ptr<claims::Questions> giver_;
    std::uint64_t reader_;
    std::string row_type_;
    std::optional<std::uint64_t> asked_;  // for the next records; none: there are no more
    std::optional<Error> wrong_;          // why there are no more
    std::string bytes_;                   // of the records that are here
    std::uint64_t record_bytes_ = 0;      // of each, if starts_ is empty
    std::vector<std::size_t> starts_;     // of each in bytes_, and the end
    std::size_t size_ = 0;                // so many
    std::size_t used_ = 0;                // of these
    std::uint64_t next_ = 0;              // number of the first that is not used
};

}  // namespace

Result<WorkIs> RemoteRecords::inspect(const Slice& slice) {
    const auto answer = ask(*giver_, AskLook{slice});
    if (!answer) return answer.error();
    return look_in(*answer);
}

Result<sources::RecordSpan> RemoteRecords::place_of(const Slice& slice) {
    const auto answer = ask(*giver_, AskPlace{slice});
    if (!answer) return answer.error();
    return place_in(*answer);
}

Result<std::unique_ptr<sources::RecordReader>> RemoteRecords::open(const Slice& slice, const ReadAs& as) {
    const auto answer = ask(*giver_, AskWhereabouts{slice, as});
    if (!answer) return answer.error();
    const auto found = found_of(*answer);
    if (!found) return found.error();
    if (is_here(slice, *found)) return open_here(slice, as, found->whereabouts);
    std::call_once(printed_, [&] {
        say_("records of " + line_for_message(slice.work) +
             " come from rank 0: the file is not here, or differs from the file of rank 0");
    });
    const std::uint64_t reader = ++readers_;
    const auto opened = ask(*giver_, OpenReader{reader, slice, as});
    if (!opened) return opened.error();
    auto reader_there = opened_of(*opened);
    if (!reader_there) return reader_there.error();
    return std::unique_ptr<sources::RecordReader>(
        std::make_unique<RemoteReader>(giver_, reader, std::move(*reader_there)));
}

}  // namespace wq::slices::queue
