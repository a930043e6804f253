#include "functions/pool/function_process.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "functions/pool/channel.h"
#include "functions/pool/page.h"

namespace wq::functions::pool {

namespace {

// Which file a descriptor is of.
struct FileId {
    dev_t device = 0;
    ino_t number = 0;
    bool operator==(const FileId&) const = default;

    static FileId of(const Descriptor& file) {
        struct stat facts {};
        if (fstat(file.get(), &facts) != 0) return {};
        return {facts.st_dev, facts.st_ino};
    }
};

struct Answer {
    Outcome outcome = Outcome::value;
    std::string payload;
    Blocks blocks;
};

class WorkerLoop {
  public:
    WorkerLoop(PageMemory& memory, Descriptor socket, Descriptor doorbell, FunctionPlace& function)
        : page_(memory.page()),
          jobs_(page_.jobs, memory.jobs(), page_.shape.jobs),
          results_(page_.results, memory.results(), page_.shape.results),
          socket_(std::move(socket)),
          doorbell_(std::move(doorbell)),
          socket_id_(FileId::of(socket_)),
          doorbell_id_(FileId::of(doorbell_)),
          function_(function) {}

    void run() {
        page_.ready.store(1);
        ring_program();
        for (;;) {
            page_.bell.wait([this] { return stopping() || !jobs_.empty(); }, yields_);
            if (stopping() || !work()) return;
        }
    }

  private:
    bool stopping() const { return page_.stopping.load(std::memory_order_seq_cst) != 0; }
    bool is_old(std::uint64_t session) const {
        return page_.session.load(std::memory_order_relaxed) != session;
    }

    // False: the worker has to end.
    bool work() {
        auto message = receive_message<JobHead>(jobs_, socket_.get());
        if (!message) return false;
        const JobHead head = message->head;
        ResultHead result;
        result.job = head.job;
        result.begun = nanos_now();
        jobs_.taken();
        Answer answer = answer_of(std::move(*message));
        result.processed = nanos_now();
        std::fflush(stdout);
        result.outcome = answer.outcome;
        const bool intact = keeps_descriptors();
        return send(result, std::move(answer)) && intact;
    }

    // False: the function has closed them, and others may have their numbers. This process has to end, which
    // wakes the program, so that another one runs the next job.
    bool keeps_descriptors() {
        if (FileId::of(socket_) == socket_id_ && FileId::of(doorbell_) == doorbell_id_) return true;
        static_cast<void>(socket_.release());
        static_cast<void>(doorbell_.release());
        return false;
    }

    Answer answer_of(Incoming<JobHead> message) {
        if (!message.problem.empty()) return {Outcome::error, std::move(message.problem), {}};
        if (is_old(message.head.session)) {
            for (std::shared_ptr<Block>& block : message.blocks) Block::drop_user(std::move(block));
            return {Outcome::not_run, {}, {}};
        }
        try {
            auto batch = decode(message.payload(), std::move(message.blocks));
            if (!batch) return {Outcome::error, batch.error().message, {}};
            const std::uint64_t session = message.head.session;
            const JobContext context{page_.worker, page_.seed, message.head.attempt, session,
                                     [this, session] { return stopping() || is_old(session); }};
            Answer answer;
            Batch result = function_.run(function_.object(), std::move(*batch), context);
            encode(result, answer.payload, answer.blocks);
            for (const std::shared_ptr<Block>& block : answer.blocks) block->add_user();
            return answer;
        } catch (const std::exception& error) {
            return {Outcome::error, error.what(), {}};
        } catch (...) {
            return {Outcome::error, "the function threw what is no std::exception", {}};
        }
    }

    bool send(ResultHead result, Answer answer) {
        for (;;) {
            wait_for_room();
            if (stopping()) return false;
            result.queued = nanos_now();
            const auto sent = send_message(results_, socket_.get(), result, answer.payload, answer.blocks);
            if (sent && *sent == Sent::yes) break;
            if (!sent) {
                if (answer.outcome == Outcome::error) return false;
                for (std::shared_ptr<Block>& block : answer.blocks) Block::drop_user(std::move(block));
                const char* const why =
                    socket_.valid() ? "" : ", as the function closed its worker's descriptors";
                answer = {Outcome::error, sent.error().message + why, {}};
                result.outcome = Outcome::error;
                continue;
            }
            // More descriptors are on their way than the socket takes.
            pollfd writable{socket_.get(), POLLOUT, 0};
            poll(&writable, 1, -1);
        }
        if (page_.taker_waits.load(std::memory_order_seq_cst) != 0) wake_collector();
        return true;
    }

    // Mostly somebody takes results at this moment.
    void wait_for_room() {
        const auto has_room = [this] {
            return stopping() || results_.waiting() < page_.shape.results.messages;
        };
        if (has_room() || yields_.until(has_room)) return;
        wake_collector();
        page_.bell.wait(has_room, yields_);
    }

    void wake_collector() const {
        if (page_.collector_sleeps.load(std::memory_order_seq_cst) != 0 &&
            page_.collector_sleeps.exchange(0) != 0)
            ring_program();
    }

    void ring_program() const {
        const std::uint64_t one = 1;
        static_cast<void>(!write(doorbell_.get(), &one, sizeof one));
    }

    Page& page_;
    RingReader jobs_;
    RingWriter results_;
    Yields yields_;
    Descriptor socket_;
    Descriptor doorbell_;
    const FileId socket_id_;
    const FileId doorbell_id_;
    FunctionPlace& function_;
};

// Each worker is one of several: libraries that would start a thread a core use one, unless the user has said
// otherwise.
void use_one_thread() {
    constexpr std::array<const char*, 5> variables{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                                   "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                                   "VECLIB_MAXIMUM_THREADS"};
    if (std::getenv(variables.front()) != nullptr) return;
    for (const char* const variable : variables) setenv(variable, "1", 0);
    using SetThreads = void (*)(int);
    for (const char* const name : {"omp_set_num_threads", "openblas_set_num_threads", "MKL_Set_Num_Threads"})
        if (const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, name))) set(1);
}

// If the function calls exit(): this handler is registered last, so it is the first, and the program's own
// handlers do not run.
void leave(int code, void*) {
    std::fflush(stdout);
    _exit(code);
}

}  // namespace

void worker_main(Descriptor page, Descriptor socket, Descriptor doorbell, FunctionPlace function) noexcept {
    on_exit(leave, nullptr);
    use_one_thread();
    auto memory = PageMemory::map(std::move(page));
    if (!memory) _exit(to_int(memory.error().code));
    const KeepBlocks keep_blocks((*memory)->page().memory_to_keep);
    WorkerLoop(**memory, std::move(socket), std::move(doorbell), function).run();
    std::fflush(stdout);
    _exit(0);
}

}  // namespace wq::functions::pool
