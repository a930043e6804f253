// Reads works for workers that do not have them, in a thread: the giver's line must not wait for a disk.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "feed/lines.h"
#include "slice_queue/record_requests.h"

namespace wq::slice_queue {

class RecordServer final : public feed::Service {
  public:
    // `works` must outlive it. `pass`: Pass::bytes().
    RecordServer(SliceWorks& works, std::string pass) : works_(works), pass_(std::move(pass)) {}
    ~RecordServer() override { stop(); }

    // On the line's thread.
    void ask(const feed::Address& worker, feed::Ask ask) override;
    void gone(const feed::Address& worker) override;

    // From now on answers are sent, through `line`, until stop(); requests of before wait.
    void start(feed::GiverLine& line);
    void stop();

  private:
    struct Reader {
        std::unique_ptr<sources::RecordReader> records;
        std::size_t at_once = 1;  // so many in an answer
    };
    using Readers = std::map<std::uint64_t, Reader>;  // of one worker
    struct Job {
        feed::Address worker;
        std::optional<feed::Ask> ask;  // none: the worker has gone
    };

    void run(feed::GiverLine& line);
    void put(Job job);
    std::string answer_to(const feed::Address& worker, std::string_view what);
    std::string serve(Readers&, const AskPass&) { return answer_of(std::string_view(pass_)); }
    std::string serve(Readers&, const AskPlace& ask);
    std::string serve(Readers&, const AskWhereabouts& ask);
    std::string serve(Readers& readers, const OpenReader& open);
    std::string serve(Readers& readers, const ReadOn& next);
    std::string serve(Readers& readers, const MoveReader& move);
    std::string serve(Readers& readers, const CloseReader& close);

    SliceWorks& works_;
    std::string pass_;
    std::mutex mutex_;  // of jobs_, over_
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool over_ = false;
    std::map<feed::Address, Readers> readers_;  // the thread's
    std::thread thread_;
};

}  // namespace wq::slice_queue
