// Shared by the parts of WorkerFiles: a task's place in the workspace, and the work done there in the
// background.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/task_files.h"
#include "worker/worker_files.h"

namespace wq::worker {

struct WorkerFiles::Store {
    std::atomic<bool> closed{false};  // the folder goes: nothing is made in it any more
    std::string folder;
    std::string cache_folder;
    std::optional<files::Cache> cache;
    std::map<std::string, std::string> made;  // content keys of what URLs and commands gave, by their keys
    files::Trouble trouble;                   // with it no task can be staged
    files::Sharing sharing;
    std::deque<std::string> leaving;  // what is removed, a few files a job
    std::uint64_t left = 0;           // that was to be

    Store();
    bool gone() const;  // with a launcher that died
    // `cache_at`: empty: the cache goes with the folder.
    files::Trouble enter(const std::string& where, const std::string& cache_at);
    // It is nobody's any more, and out of the way at once.
    void remove(const std::string& path);
    bool remove_some();  // of that; returns whether there is more
    // The disk is full: false: nothing is left that could go.
    bool make_room();
    // Whether it has to be read before it is known; then the next few megabytes were.
    bool check_some(const wire::InputFile& input);
    // Of an input that is cached here; nothing: it is not.
    std::optional<std::string> content_key(const wire::InputFile& input);
};

struct WorkerFiles::Task {
    enum class State { staging, fetching, making, waiting, running, looking, sending, sent };

    wire::Lease lease;
    std::uint64_t number = 0;
    State state = State::staging;
    bool dropped = false;
    bool killed = false;     // what makes its input may have ended before it was told
    std::uint64_t link = 0;  // streams of an earlier link are over

    std::string sandbox;
    std::size_t next_input = 0;
    bool fetched_again = false;
    // Of the input that is fetched; of the background's thread.
    std::optional<files::Cache::Incoming> incoming;
    std::optional<files::TreeWriter> writer;
    std::uint32_t taken_stream = 0;  // whose bytes these are
    bool taken_badly = false;        // and which came to nothing
    // Of the loop's.
    std::uint64_t consumed = 0;
    std::uint32_t stream = 0;  // that is taken: what is on its way of earlier ones is not
    // Of the one that was made, on its way into the cache.
    struct Intake {
        files::TreeReader reader;
        files::KeyMaker maker;
        std::string key;  // once it was read to its end
    };
    std::optional<Intake> intake;
    std::optional<files::TreeReader> neighbour;  // another worker has it

    // Of watched outputs, by their place: how far they were sent, and how far taken.
    struct Watch {
        std::uint64_t sent = 0;
        std::uint64_t taken = 0;
        bool over = false;
    };
    std::map<std::uint32_t, Watch> watches;
    bool watch_busy = false;                  // one is looked at, or an answer is awaited
    std::optional<std::uint32_t> watch_last;  // of this round, that was sent; of the background's thread
    bool watch_full = false;                  // it had more than a part holds; of the same

    launcher::TaskEnded end;
    std::vector<std::uint32_t> outputs;  // that are to be sent
    std::size_t next_output = 0;
    std::optional<files::TreeReader> reader;  // of the background's thread
    std::uint64_t sent = 0;
    std::uint64_t upto = wire::first_output_bytes;
    bool busy = false;

    Key key() const { return {lease.task, lease.attempt}; }
    const wire::InputFile& input() const { return lease.files->inputs[next_input]; }
    std::string path_of(const std::string& name) const { return sandbox + "/" + name; }
    // Where its next input is made, and as what.
    std::string making_folder() const { return sandbox + ".made"; }
    std::string making_path() const { return making_folder() + "/it"; }
    wire::Lease lease_without_files();

    // False: this worker cannot, whatever the task is.
    bool make_sandbox(const Store& store, files::Trouble& trouble);
    // The inputs from next_input on, up to one that is to be fetched or made; or, with `more`, one of which
    // there is more to be read.
    files::Trouble place_what_is_here(Store& store, bool& more);
    // The next bytes of an input that comes from the manager.
    struct InputBytes {
        const wire::InputFile& input;
        std::uint32_t stream = 0;
        const std::string& bytes;
        bool last = false;
    };
    files::Trouble take(Store& store, const InputBytes& part);
    // The next few megabytes of the one that was made. Done: it is in its place, or in the cache.
    struct Step {
        bool done = true;
        files::Trouble trouble;
    };
    Step take_made(Store& store);
    // The next few megabytes of the one that another worker of the node has.
    Step take_from_neighbour(Store& store);

    // What was appended to one of the watched outputs.
    struct Grown {
        std::uint32_t output = 0;
        std::uint64_t offset = 0;
        std::string bytes;
    };
    std::optional<Grown> look_for_growth();
    // What it made of what is wanted.
    struct Made {
        std::vector<std::uint32_t> outputs;
        std::vector<std::string> missing;
    };
    Made look_for_outputs(bool good) const;
    // The next part of its outputs, at most `most` bytes; of one that cannot be read, why.
    struct Part {
        std::uint32_t output = 0;
        std::string bytes;
        bool last = false;
        std::string unreadable;
    };
    std::optional<Part> read(std::size_t most);

    void note(core::Ending ending, const std::string& why);  // where it says no more by itself
    void clean_up(Store& store);

  private:
    files::Trouble check() const;
    files::Trouble put(Store& store, const InputBytes& part);
    files::Trouble place(Store& store, wire::InputFile& input, bool& placed);
    files::Trouble place(Store& store, const std::string& key, const std::string& to) const;
    void make_folder_of(const std::string& name) const;
};

}  // namespace wq::worker
