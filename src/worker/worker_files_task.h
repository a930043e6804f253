// Shared by the parts of WorkerFiles: the two halves of a task, one for each thread, and the workspace.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "files/trees/task_files.h"
#include "worker/worker_files.h"

namespace wq::worker {

struct WorkerFiles::Store {
    std::atomic<bool> closed{false};  // the folder is removed: create nothing in it any more
    std::string folder;
    std::string cache_folder;
    std::optional<files::trees::Cache> cache;
    std::map<std::string, std::string> made;  // content keys of inputs from URLs and commands, by input key
    files::trees::Trouble trouble;            // if set, no task can be staged
    files::trees::Sharing sharing;
    std::deque<std::string> leaving;  // folders to remove, a few files per job
    std::uint64_t left = 0;           // count of paths ever put there

    Store();
    bool gone() const;  // removed with a launcher that died
    // `cache_at`: empty if the cache is removed with the folder.
    files::trees::Trouble enter(const std::string& where, const std::string& cache_at);
    // Moves it out of the way at once; remove_some() removes it.
    void remove(const std::string& path);
    bool remove_some();  // returns whether there is more
    // Called when the disk is full. False if there is nothing left to remove.
    bool make_room();
    // Whether the cached input must still be read to verify it. If so, this reads its next few megabytes.
    bool check_some(const net::messages::InputFile& input);
    // The content key of an input that is cached here; nullopt if it is not.
    std::optional<std::string> content_key(const net::messages::InputFile& input);
};

// The background's half of a task: its sandbox, and its files on their way in and out.
struct WorkerFiles::Sandbox {
    const Key key;
    std::map<std::size_t, std::string> contents;                   // that came with the lease, by input
    const std::shared_ptr<const net::messages::LeaseFiles> files;  // common to both halves

    std::string path{};  // empty until it is made
    bool fetched_again = false;
    // The input being fetched.
    std::optional<files::trees::Cache::Incoming> incoming{};
    std::optional<files::trees::TreeWriter> writer{};
    std::uint32_t taken_stream = 0;  // the stream of these bytes
    bool taken_badly = false;        // that stream failed
    // A created input on its way into the cache.
    struct Intake {
        files::trees::TreeReader reader;
        files::trees::KeyMaker maker;
        std::string key;  // set once it was read to its end
    };
    std::optional<Intake> intake{};
    std::optional<files::trees::TreeReader> neighbour{};  // another worker has the input

    // Watched outputs by index: how many bytes were sent, and how many the manager took.
    struct Watch {
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        bool over = false;
    };
    std::map<std::uint32_t, Watch> watches{};
    std::optional<std::uint32_t> watch_last{};  // last one sent in this round
    bool watch_full = false;                    // it had more than a part holds

    // Files of its stdout and stderr, which are sent as further outputs behind those of the lease.
    std::array<std::string, 2> streams{};
    std::vector<std::uint32_t> outputs{};  // to be sent
    std::size_t next_output = 0;
    std::optional<files::trees::TreeReader> reader{};
    Descriptor stream_file{};  // the same, for a stream

    // False: this worker cannot make a sandbox for any task.
    bool make(const Store& store, files::trees::Trouble& trouble);
    // Places the inputs from `next` on, up to one that must be fetched or created, or (`more`) one that must
    // be read further.
    struct Placed {
        std::size_t next = 0;  // the first input that is not there
        bool more = false;
        files::trees::Trouble trouble{};
    };
    Placed place_what_is_here(Store& store, std::size_t next);
    // The next bytes of an input that comes from the manager.
    struct InputBytes {
        const net::messages::InputFile& input;
        std::uint32_t stream = 0;
        const std::string& bytes;
        bool last = false;
    };
    files::trees::Trouble take(Store& store, const InputBytes& part);
    // Takes the next few megabytes of a created input. `done`: it is in its place, or in the cache.
    struct Step {
        bool done = true;
        files::trees::Trouble trouble;
    };
    Step take_made(Store& store, const net::messages::InputFile& input);
    // The same for an input that another worker of the node has.
    Step take_from_neighbour(Store& store, const net::messages::InputFile& input);

    // The bytes appended to a watched output.
    struct Grown {
        std::uint32_t output = 0;
        std::uint64_t offset = 0;
        std::string bytes;
    };
    std::optional<Grown> look_for_growth();
    // Which of the requested outputs it made. Returns the names of those that it did not make.
    std::vector<std::string> look_for_outputs(bool good);
    // The next part of its outputs, at most `most` bytes; or why an output cannot be read.
    struct Part {
        std::uint32_t output = 0;
        std::string bytes;
        bool last = false;
        std::string unreadable;
    };
    std::optional<Part> read(std::size_t most);
    void read_anew();
    void clean_up(Store& store);

  private:
    std::string path_of(const std::string& name) const { return path + "/" + name; }
    files::trees::Trouble check() const;
    files::trees::Trouble store_part(Store& store, const InputBytes& part);
    files::trees::Trouble place(Store& store, std::size_t input, bool& placed);
    files::trees::Trouble place(Store& store, const std::string& content, const std::string& to) const;
    void make_folder_of(const std::string& name) const;
    void read_stream(Part& part, std::size_t most);
};

// The folder where the next input of a task is created, and the input's path there.
inline std::string making_folder(const std::string& sandbox) {
    return sandbox + ".made";
}
inline std::string making_path(const std::string& sandbox) {
    return making_folder(sandbox) + "/it";
}

// The loop's half of a task. It holds the other half, which only jobs can open.
class WorkerFiles::Task {
    Sandbox half_;  // first: it takes the contents out of the lease

  public:
    enum class State { staging, fetching, making, waiting, running, looking, sending, sent };

    Task(net::messages::Lease given, std::uint64_t nth);

    const net::messages::Lease lease;  // without its files
    const std::shared_ptr<const net::messages::LeaseFiles> files;
    const std::uint64_t number;
    const bool watched;  // it has watched outputs
    State state = State::staging;
    bool dropped = false;
    bool killed = false;     // the command that makes its input may have ended before the kill
    std::uint64_t link = 0;  // streams of an earlier link are void

    std::string sandbox{};
    std::size_t next_input = 0;
    std::uint64_t consumed = 0;
    std::uint32_t stream = 0;  // the current one: bytes of earlier ones are dropped
    bool watch_busy = false;   // a watched output is being read, or an answer is awaited

    node::launcher::TaskEnded end{};
    engine::model::FileTimes times{};
    std::uint64_t sent = 0;
    std::uint64_t upto = net::messages::first_output_bytes;
    bool busy = false;

    Key key() const { return {lease.task, lease.attempt}; }
    const net::messages::InputFile& input() const { return files->inputs[next_input]; }
    void add_reason(engine::model::Ending ending,
                    const std::string& why);  // if the outcome has no reason yet

  private:
    template <class Job>
    friend void WorkerFiles::in_background(const TaskPointer& task, Job job);
    template <class Job, class Then>
    friend void WorkerFiles::in_background(const TaskPointer& task, Job job, Then then);
};

template <class Job>
void WorkerFiles::in_background(const TaskPointer& task, Job job) {
    in_background([task, job = std::move(job)](Store& store) -> Background::Then {
        job(task->half_, store);
        return {};
    });
}

template <class Job, class Then>
void WorkerFiles::in_background(const TaskPointer& task, Job job, Then then) {
    in_background(
        [task, job = std::move(job), then = std::move(then)](Store& store) mutable -> Background::Then {
            auto result =
                std::make_shared<std::decay_t<decltype(job(task->half_, store))>>(job(task->half_, store));
            return [task, then = std::move(then), result] {
                if (!task->dropped) then(*result);
            };
        });
}

}  // namespace wq::worker
