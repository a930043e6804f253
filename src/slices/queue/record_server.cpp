#include "slices/queue/record_server.h"

#include <algorithm>

#include "base/signals.h"
#include "base/units.h"
#include "slices/sources/source_file.h"

namespace wq::slices::queue {

namespace {

constexpr std::size_t most_readers = 256;  // of one worker: each has a file open
// An answer: as large that a round trip costs little beside it, and a worker waits for little that it may not
// need.
constexpr std::uint64_t answer_bytes = std::uint64_t{1} << 20;
constexpr std::size_t most_records = 65'536;
// Of one record: an answer is a frame, which has at most 1 GiB, and it is copied some times.
constexpr std::uint64_t most_record_bytes = std::uint64_t{256} << 20;
constexpr std::uint64_t most_answer_bytes = 3 * most_record_bytes;

const Error no_reader{ExitCode::bad_input, "there is no such reader"};

std::uint64_t value_bytes(const sources::RecordBlock& block) {
    if (block.starts.empty()) return block.size * block.record_bytes;
    return block.starts[block.size] - block.starts[0];
}

// So many, whose size is about that of the last `size` in `bytes`, fit into an answer.
std::size_t records_of_answer(std::uint64_t bytes, std::uint64_t size) {
    const std::uint64_t each = std::max<std::uint64_t>(bytes / std::max<std::uint64_t>(size, 1), 1);
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(answer_bytes / each, 1, most_records));
}

Error too_large(const std::string& what, std::uint64_t bytes) {
    return {ExitCode::bad_input, what + " have " + format_size(static_cast<std::int64_t>(bytes)) +
                                     ": a worker without the file gets records of at most " +
                                     format_size(static_cast<std::int64_t>(most_record_bytes))};
}

Error no_work(const Slice& slice) {
    return {ExitCode::not_allowed, line_for_message(slice.work) + " is no work"};
}

}  // namespace

RecordServer::RecordServer(SliceWorks& works, std::string pass)
    : works_(works), pass_(std::move(pass)), thread_(quiet_thread([this] { run(); })) {}

void RecordServer::answer_through(claims::GiverLine& line) {
    {
        const std::lock_guard lock(mutex_);
        line_ = &line;
    }
    changed_.notify_one();
}

void RecordServer::ask(const claims::Address& worker, claims::Question question) {
    queue_job({worker, std::move(question)});
}

void RecordServer::gone(const claims::Address& worker) {
    queue_job({worker, std::nullopt});
}

void RecordServer::queue_job(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
}

void RecordServer::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

std::optional<RecordServer::Job> RecordServer::next_job() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || (line_ != nullptr && !jobs_.empty()); });
    if (over_) return std::nullopt;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
}

void RecordServer::run() {
    while (const auto job = next_job()) serve(*job);
}

void RecordServer::serve(const Job& job) {
    if (!job.question) return static_cast<void>(readers_.erase(job.worker));
    std::string answer;
    try {
        answer = answer_to(job.worker, job.question->what);
    } catch (const Failure& failure) {
        answer = answer_of(failure.error);
    } catch (const std::exception& error) {  // such as no memory
        answer = answer_of(Error{ExitCode::unreachable, error.what()});
    }
    line_->answer(job.worker, {job.question->number, std::move(answer)});
}

std::string RecordServer::answer_to(const claims::Address& worker, std::string_view what) {
    const auto request = decode_request(what);
    if (!request) return answer_of(request.error());
    Readers& readers = readers_[worker];
    return std::visit([&](const auto& known) { return serve(readers, known); }, *request);
}

std::string RecordServer::serve(Readers&, const AskPlace& ask) {
    if (!works_.has(ask.slice.work)) return answer_of(no_work(ask.slice));
    const auto place = works_.place_of(ask.slice);
    return place ? answer_of(*place) : answer_of(place.error());
}

std::string RecordServer::serve(Readers&, const AskLook& ask) {
    if (!works_.has(ask.slice.work)) return answer_of(no_work(ask.slice));
    return answer_of(*works_.inspect(ask.slice));
}

std::string RecordServer::serve(Readers&, const AskWhereabouts& ask) {
    if (!works_.has(ask.slice.work)) return answer_of(no_work(ask.slice));
    const auto known = works_.whereabouts(ask.slice, ask.as);
    if (!known) return answer_of(known.error());
    FoundFile found{*known, known->planned, 0};
    if (const auto file = file_of(ask.slice)) {
        if (!found.stamp) found.stamp = file->stamp(0);
        found.sample = sample_of(*file);
    }
    return answer_of(found);
}

std::string RecordServer::serve(Readers& readers, const OpenReader& open) {
    if (!works_.has(open.slice.work)) return answer_of(no_work(open.slice));
    if (open.as.record_bytes > most_record_bytes)
        return answer_of(too_large("records of " + line_for_message(open.slice.work), open.as.record_bytes));
    if (readers.size() >= most_readers)
        return answer_of(Error{ExitCode::not_allowed, "a worker has at most 256 readers"});
    auto opened = works_.open(open.slice, open.as);
    if (!opened) return answer_of(opened.error());
    const OpenedReader reader{(*opened)->key_prefix(), (*opened)->row_type()};
    const std::uint64_t each = (*opened)->record_bytes();
    if (each > most_record_bytes)
        return answer_of(too_large("rows of " + line_for_message(open.slice.work), each));
    const std::size_t at_once = each > 0 ? records_of_answer(each, 1) : first_records;
    readers[open.reader] = {std::move(*opened), at_once};
    return answer_of(reader);
}

std::string RecordServer::serve(Readers& readers, const ReadOn& next) {
    const auto found = readers.find(next.reader);
    if (found == readers.end()) return answer_of(no_reader);
    auto& [records, at_once] = found->second;
    const auto block = records->read(at_once);
    if (!block) return answer_of(block.error());
    if (value_bytes(*block) > most_answer_bytes)
        return answer_of(too_large(count_of(block->size, "record"), value_bytes(*block)));
    if (records->record_bytes() == 0 && block->size > 0)
        at_once = std::min(records_of_answer(value_bytes(*block), block->size), 16 * at_once);
    return answer_of(*block);
}

std::string RecordServer::serve(Readers& readers, const MoveReader& move) {
    const auto found = readers.find(move.reader);
    if (found == readers.end()) return answer_of(no_reader);
    const Status moved = found->second.records->move_to(move.place);
    return moved ? answer_of(Done{}) : answer_of(moved.error());
}

std::string RecordServer::serve(Readers& readers, const CloseReader& close) {
    readers.erase(close.reader);
    return answer_of(Done{});
}

}  // namespace wq::slices::queue
