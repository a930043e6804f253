#include "slice_queue/record_server.h"

#include <algorithm>

#include "base/quiet_thread.h"
#include "base/units.h"
#include "sources/h5_name.h"
#include "sources/source_file.h"

namespace wq::slice_queue {

namespace {

constexpr std::size_t most_readers = 256;  // of one worker: each has a file open
// An answer: as large that a round trip costs little beside it, and a worker waits for little that it may not
// need.
constexpr std::uint64_t answer_bytes = std::uint64_t{1} << 20;
constexpr std::size_t answer_records = 4096;  // if their sizes differ

const Error no_reader{ExitCode::bad_input, "there is no such reader"};

std::size_t records_of_answer(const sources::RecordReader& records) {
    const std::uint64_t each = records.record_bytes();
    return each == 0 ? answer_records
                     : static_cast<std::size_t>(std::max<std::uint64_t>(answer_bytes / each, 1));
}

std::optional<sources::SourceStamp> stamp_now(const std::string& work) {
    const auto dataset = sources::split_h5_name(work);
    const auto file = sources::SourceFile::open(dataset ? dataset->file : work);
    if (!file) return std::nullopt;
    return file->stamp(0);
}

}  // namespace

void RecordServer::start(feed::GiverLine& line) {
    thread_ = quiet_thread([this, &line] { run(line); });
}

void RecordServer::ask(const feed::Address& worker, feed::Ask ask) {
    put({worker, std::move(ask)});
}

void RecordServer::gone(const feed::Address& worker) {
    put({worker, std::nullopt});
}

void RecordServer::put(Job job) {
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

void RecordServer::run(feed::GiverLine& line) {
    for (;;) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
        if (over_) return;
        const Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        if (job.ask)
            line.answer(job.worker, {job.ask->question, answer_to(job.worker, job.ask->what)});
        else
            readers_.erase(job.worker);
    }
}

std::string RecordServer::answer_to(const feed::Address& worker, std::string_view what) {
    const auto request = decode_request(what);
    if (!request) return answer_of(request.error());
    try {
        Readers& readers = readers_[worker];
        return std::visit([&](const auto& known) { return serve(readers, known); }, *request);
    } catch (const std::exception& error) {  // such as no memory
        return answer_of(Error{ExitCode::unreachable, error.what()});
    }
}

std::string RecordServer::serve(Readers&, const AskPlace& ask) {
    const auto place = works_.place_of(ask.slice);
    return place ? answer_of(*place) : answer_of(place.error());
}

std::string RecordServer::serve(Readers&, const AskWhereabouts& ask) {
    if (!works_.has(ask.slice.work))
        return answer_of(Error{ExitCode::not_allowed, line_for_message(ask.slice.work) + " is no work"});
    const auto known = works_.whereabouts(ask.slice, ask.as);
    if (!known) return answer_of(known.error());
    return answer_of(FoundFile{*known, known->planned ? known->planned : stamp_now(ask.slice.work)});
}

std::string RecordServer::serve(Readers& readers, const OpenReader& open) {
    if (!works_.has(open.slice.work))
        return answer_of(Error{ExitCode::not_allowed, line_for_message(open.slice.work) + " is no work"});
    if (readers.size() >= most_readers)
        return answer_of(Error{ExitCode::not_allowed, "a worker has at most 256 readers"});
    auto opened = works_.open(open.slice, open.as);
    if (!opened) return answer_of(opened.error());
    const OpenedReader words{(*opened)->key_prefix(), (*opened)->row_type()};
    const std::size_t at_once = records_of_answer(**opened);
    readers[open.reader] = {std::move(*opened), at_once};
    return answer_of(words);
}

std::string RecordServer::serve(Readers& readers, const ReadOn& next) {
    const auto found = readers.find(next.reader);
    if (found == readers.end()) return answer_of(no_reader);
    const auto block = found->second.records->read(found->second.at_once);
    return block ? answer_of(*block) : answer_of(block.error());
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

}  // namespace wq::slice_queue
