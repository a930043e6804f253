// Shared by the parts of WorkerFiles: a task's place in the workspace, and the background work there.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
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

struct WorkerFiles::Task {
    enum class State { staging, fetching, making, waiting, running, looking, sending, sent };

    net::messages::Lease lease;
    std::uint64_t number = 0;
    State state = State::staging;
    bool dropped = false;
    bool killed = false;     // the command that makes its input may have ended before the kill
    std::uint64_t link = 0;  // streams of an earlier link are void

    std::string sandbox;
    std::size_t next_input = 0;
    bool fetched_again = false;
    // The input being fetched; used by the background thread.
    std::optional<files::trees::Cache::Incoming> incoming;
    std::optional<files::trees::TreeWriter> writer;
    std::uint32_t taken_stream = 0;  // the stream of these bytes
    bool taken_badly = false;        // that stream failed
    // Used by the loop.
    std::uint64_t consumed = 0;
    std::uint32_t stream = 0;  // the current one: bytes of earlier ones are dropped
    // A created input on its way into the cache.
    struct Intake {
        files::trees::TreeReader reader;
        files::trees::KeyMaker maker;
        std::string key;  // set once it was read to its end
    };
    std::optional<Intake> intake;
    std::optional<files::trees::TreeReader> neighbour;  // another worker has the input

    // Watched outputs by index: how many bytes were sent, and how many the manager took.
    struct Watch {
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        bool over = false;
    };
    std::map<std::uint32_t, Watch> watches;
    bool watch_busy = false;                  // one is being read, or an answer is awaited
    std::optional<std::uint32_t> watch_last;  // last one sent in this round; background thread
    bool watch_full = false;                  // it had more than a part holds; background thread

    node::launcher::TaskEnded end;
    // Files of its stdout and stderr, which are sent as further outputs behind those of the lease.
    std::array<std::string, 2> streams;
    std::vector<std::uint32_t> outputs;  // to be sent
    std::size_t next_output = 0;
    std::optional<files::trees::TreeReader> reader;  // of the background's thread
    Descriptor stream_file;                          // the same, for a stream
    std::uint64_t sent = 0;
    std::uint64_t upto = net::messages::first_output_bytes;
    bool busy = false;

    Key key() const { return {lease.task, lease.attempt}; }
    const net::messages::InputFile& input() const { return lease.files->inputs[next_input]; }
    std::string path_of(const std::string& name) const { return sandbox + "/" + name; }
    // The folder where its next input is created, and the input's path there.
    std::string making_folder() const { return sandbox + ".made"; }
    std::string making_path() const { return making_folder() + "/it"; }
    net::messages::Lease lease_without_files();

    // False: this worker cannot make a sandbox for any task.
    bool make_sandbox(const Store& store, files::trees::Trouble& trouble);
    // Places the inputs from next_input on, up to one that must be fetched or created, or (`more`) one that
    // must be read further.
    files::trees::Trouble place_what_is_here(Store& store, bool& more);
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
    Step take_made(Store& store);
    // The same for an input that another worker of the node has.
    Step take_from_neighbour(Store& store);

    // The bytes appended to a watched output.
    struct Grown {
        std::uint32_t output = 0;
        std::uint64_t offset = 0;
        std::string bytes;
    };
    std::optional<Grown> look_for_growth();
    // Which of the requested outputs it made.
    struct Made {
        std::vector<std::uint32_t> outputs;
        std::vector<std::string> missing;
    };
    Made look_for_outputs(bool good) const;
    // The next part of its outputs, at most `most` bytes; or why an output cannot be read.
    struct Part {
        std::uint32_t output = 0;
        std::string bytes;
        bool last = false;
        std::string unreadable;
    };
    std::optional<Part> read(std::size_t most);

    void read_stream(Part& part, std::size_t most);
    void read_anew();
    void add_reason(engine::model::Ending ending,
                    const std::string& why);  // if the outcome has no reason yet
    void clean_up(Store& store);

  private:
    files::trees::Trouble check() const;
    files::trees::Trouble store_part(Store& store, const InputBytes& part);
    files::trees::Trouble place(Store& store, net::messages::InputFile& input, bool& placed);
    files::trees::Trouble place(Store& store, const std::string& key, const std::string& to) const;
    void make_folder_of(const std::string& name) const;
};

}  // namespace wq::worker
