// Of FileDesk, what its parts share: what it knows of a lease, and what is done for it in the background.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/file_desk.h"

namespace wq::app {

// Of the background's thread: a key is made once for all that need it at the time.
struct FileDesk::Keys {
    files::KeyMemo memo;
    std::set<std::string> in_work;
};

// One input after the other; a few megabytes a job.
struct FileDesk::Preparation {
    struct Hashing {
        std::string name;
        files::ContentReader reader;
        files::KeyMaker maker;
        std::uint64_t bytes = 0;
        files::Fingerprint before;
    };
    enum class Step { done, more, parked };

    Key key;
    std::shared_ptr<const files::TaskFiles> files;
    std::function<void(const Prepared&)> then;
    bool dropped = false;  // of the loop's thread; the rest is of whose turn it is
    wire::LeaseFiles lease;
    files::Trouble trouble;
    std::optional<Hashing> hashing;
    std::size_t bytes_inline = 0;

    Step go_on(Keys& keys);
    // A key that it was making is somebody else's to make.
    void leave_off(Keys& keys);

  private:
    void look_at(const files::Input& input, wire::InputFile& file, std::size_t& budget);
    Step make_key(const files::Input& input, wire::InputFile& file, Keys& keys, std::size_t& budget);
};

struct FileDesk::Sending {
    WorkerId worker;
    Key key;
    std::uint32_t input = 0;
    std::uint32_t stream = 0;                       // as the worker asked for it
    std::shared_ptr<const files::TaskFiles> files;  // buffers are read where they are
    files::ContentReader reader;                    // of the background's thread
    Instant began;
    std::uint64_t sent = 0;
    std::uint64_t upto = 0;
    bool busy = false;
    bool over = false;

    Transfer transfer() const {
        const files::Input& file = files->inputs[input];
        return {key.first, true, file.cached, file.name, sent, instant_now() - began};
    }
};

// The outputs of a task come one after the other.
struct FileDesk::Taking {
    // Of the background's thread.
    std::optional<files::TreeWriter> writer;
    std::uint32_t output = 0;  // that it writes
    std::string trouble;       // the first
    // Of the loop's.
    std::uint64_t received = 0;
    std::uint64_t granted = wire::first_output_bytes;
    std::uint32_t next = 0;   // outputs before this one are over
    std::uint64_t bytes = 0;  // of the one that comes
    Instant began;
    bool finishing = false;
    bool watching = false;             // what grows is being written
    std::atomic<bool> dropped{false};  // what is still to be written is not

    // Whether it is in its place now.
    bool write(const files::Output& to, std::uint32_t index, const std::string& part, bool last) {
        if (dropped) return false;
        if (index != output) leave_off();
        const bool begins = !writer && index != skipped;
        if (begins) writer.emplace(to.to, files::TreeWriter::Purpose::kept);
        output = index;
        if (!writer) return false;
        auto wrong = writer->write(part);
        if (!wrong && last) wrong = writer->finish();
        if (wrong && trouble.empty()) trouble = wrong->what;
        if (wrong) skipped = index;
        if (wrong || last) writer.reset();
        return last && !wrong;
    }
    // Of what did not come whole nothing is left.
    void leave_off() {
        if (writer && trouble.empty()) trouble = "a file did not come to its end";
        writer.reset();
    }

  private:
    std::optional<std::uint32_t> skipped;  // could not be written: the rest of it is not looked at
};

struct FileDesk::Lease {
    WorkerId worker;
    std::shared_ptr<const files::TaskFiles> files;
    std::shared_ptr<Preparation> preparation;
    std::vector<std::string> keys;                              // of contents, by input; empty: it has none
    std::map<std::uint32_t, std::shared_ptr<Sending>> sending;  // by input
    std::shared_ptr<Taking> taking;
};

}  // namespace wq::app
