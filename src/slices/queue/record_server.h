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

#include "slices/claims/line_threads.h"
#include "slices/queue/record_requests.h"

namespace wq::slices::queue {

class RecordServer final : public claims::Service {
  public:
    // `works` must outlive it. `pass`: Pass::bytes().
    RecordServer(SliceWorks& works, std::string pass);
    ~RecordServer() override { stop(); }

    // On the line's thread.
    void ask(const claims::Address& worker, claims::Question question) override;
    void gone(const claims::Address& worker) override;

    // From now on answers are sent, through `line`, until stop(); requests of before wait.
    void answer_through(claims::GiverLine& line);
    void stop();

  private:
    static constexpr std::size_t first_records = 1;  // before their sizes are known
    struct Reader {
        std::unique_ptr<sources::RecordReader> records;
        std::size_t at_once = first_records;  // so many in an answer
    };
    using Readers = std::map<std::uint64_t, Reader>;  // of one worker
    struct Job {
        claims::Address worker;
        std::optional<claims::Question> question;  // none: the worker has gone
    };

    void run();
    std::optional<Job> next_job();
    void serve(const Job& job);
    void queue_job(Job job);
    std::string answer_to(const claims::Address& worker, std::string_view what);
    std::string serve(Readers&, const AskPass&) { return answer_of(std::string_view(pass_)); }
    std::string serve(Readers&, const AskPlace& ask);
    std::string serve(Readers&, const AskLook& ask);
    std::string serve(Readers&, const AskWhereabouts& ask);
    std::string serve(Readers& readers, const OpenReader& open);
    std::string serve(Readers& readers, const ReadOn& next);
    std::string serve(Readers& readers, const MoveReader& move);
    std::string serve(Readers& readers, const CloseReader& close);

    SliceWorks& works_;
    std::string pass_;
    std::mutex mutex_;  // of jobs_, line_, over_
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    claims::GiverLine* line_ = nullptr;
    bool over_ = false;
    std::map<claims::Address, Readers> readers_;  // the thread's
    std::thread thread_;
};

}  // namespace wq::slices::queue
