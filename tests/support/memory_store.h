// A list store in memory that several shared lists use, with what can happen to a real one: others edit the
// file, requests are lost before or after they were carried out, a writer dies amid a rewriting.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shared_list/store/list_store.h"

namespace wq::testing {

// The master: the file and what is beside it.
struct MemoryMaster {
    std::string file;
    std::uint64_t inode = 1;
    std::uint64_t last_inode = 1;
    std::string log_name;
    std::string log, previous_log;
    std::map<std::string, std::string> aside;  // lists that were put there
    std::map<shared_list::text::WorkerId, shared_list::store::Sign> signs;
    std::vector<shared_list::store::OldFile> old;
    std::uint64_t logs = 0;
    std::optional<shared_list::store::Request> late;  // of a connection that was lost
    bool late_waits = false;                          // for one more request

    std::string identity() const { return std::to_string(inode) + " " + std::to_string(file.size()); }
    // As an editor does.
    void edit(std::string text) {
        file = std::move(text);
        inode = ++last_inode;
    }
};

inline std::string spliced(const std::string& file, const std::vector<shared_list::text::Splice>& splices) {
    std::string text;
    std::uint64_t at = 0;
    for (const auto& splice : splices) {
        text += file.substr(at, splice.offset - at) + splice.text;
        at = splice.offset + splice.length;
    }
    return text + file.substr(at);
}

class MemoryStore : public shared_list::store::ListStore {
  public:
    explicit MemoryStore(MemoryMaster& master) : master_(master) {}

    // What befalls the next exchange that changes something.
    // late: the connection is lost, and what was sent is still carried out, before the next but one request.
    // dies_before_copied: the store does not learn that lines of old files are in the list.
    enum class Fault { none, lost_before, lost_after, dies_before_rename, late, dies_before_copied };
    static constexpr int faults = 5;
    Fault fault = Fault::none;
    bool unreachable = false;  // from the beginning
    Duration rewriting{0};     // how long one takes
    std::uint64_t files_sent = 0;
    std::uint64_t conflicts = 0;
    std::uint64_t turns = 0;
    std::uint64_t renewals = 0;

    std::string name() const override { return "list"; }
    Status open() override {
        if (unreachable) return cut();
        if (master_.log_name.empty()) new_log();
        return success();
    }
    Result<shared_list::store::Answer> exchange(const shared_list::store::Request& request) override {
        if (master_.late && !std::exchange(master_.late_waits, false)) {
            const shared_list::store::Request late = *std::exchange(master_.late, std::nullopt);
            if (late.known == version()) change(late, Fault::none);
        }
        shared_list::store::Answer answer;
        answer.whole_log = request.known.log != master_.log_name;
        answer.log = master_.log.substr(answer.whole_log ? 0 : request.known.log_bytes);
        const bool known =
            !answer.whole_log && answer.log.empty() && request.known.file == master_.identity();
        const Fault now = request.empty() ? Fault::none : std::exchange(fault, Fault::none);
        if (now == Fault::lost_before) return cut();
        if (now == Fault::late) {
            if (known && !master_.late) master_.late = request, master_.late_waits = true;
            return cut();
        }
        if (known && !request.empty()) answer.changed = change(request, now);
        if (!known && !request.empty()) ++conflicts;
        if (now != Fault::none) return cut();
        if (answer.changed && request.rewrite) answer.rewriting = rewriting;
        answer.now = version();
        if (request.send_file) {
            answer.file = master_.file;
            ++files_sent;
        }
        answer.old = master_.old;
        return answer;
    }
    Result<std::string> previous_log() override { return master_.previous_log; }
    Status ask_for_turn(const std::string& name) override {
        ++turns;
        master_.log += "TURN " + name + "\n";
        return success();
    }
    Status renew_signs() override {
        ++renewals;
        return success();
    }
    Status beat(shared_list::text::WorkerId worker, Duration lease) override {
        master_.signs[worker] = {worker, Duration{0}, lease};
        return success();
    }
    Status remove_sign(shared_list::text::WorkerId worker) override {
        master_.signs.erase(worker);
        return success();
    }
    Result<std::vector<shared_list::store::Sign>> signs() override {
        std::vector<shared_list::store::Sign> all;
        for (const auto& [worker, sign] : master_.signs) all.push_back(sign);
        return all;
    }
    Result<shared_list::store::MasterTime> time() override { return shared_list::store::MasterTime{}; }
    Result<std::unique_ptr<Held>> hold() override { return std::make_unique<Held>(); }

  private:
    shared_list::store::Version version() const {
        return {master_.log_name, master_.log.size(), master_.identity()};
    }
    static Error cut() { return {ExitCode::unreachable, "list: the connection was lost"}; }
    void new_log() {
        master_.previous_log = master_.log;
        master_.log_name = "log" + std::to_string(++master_.logs);
        master_.log = "LOG " + master_.log_name + "\n";
    }
    bool change(const shared_list::store::Request& request, Fault now) {
        if (request.new_log) new_log();
        master_.log += request.records;
        if (now == Fault::dies_before_copied && !request.copied_old.empty()) return true;
        for (const auto& name : request.copied_old)
            std::erase_if(master_.old,
                          [&](const shared_list::store::OldFile& old) { return old.name == name; });
        if (!request.rewrite) return true;
        if (!request.put_aside.empty()) master_.aside[request.put_aside] = master_.file;
        const std::uint64_t before = master_.inode;
        const std::string text = spliced(master_.file, request.splices);
        if (!request.splices.empty()) master_.inode = ++master_.last_inode;
        std::string old_file = std::exchange(master_.file, text);
        master_.log += "FILE " + master_.identity() + "\n";
        if (now == Fault::dies_before_rename) {
            master_.file = std::move(old_file);
            master_.inode = before;
        }
        return true;
    }

    MemoryMaster& master_;
};

// A list that cannot be opened, or not be changed.
struct Faults {
    std::optional<Error> open;
    std::optional<Error> change;
    int changes = 0;  // that fail
};
class FaultyStore : public MemoryStore {
  public:
    FaultyStore(MemoryMaster& master, Faults& faults) : MemoryStore(master), faults_(faults) {}
    Status open() override { return faults_.open ? Status(*faults_.open) : MemoryStore::open(); }
    Result<shared_list::store::Answer> exchange(const shared_list::store::Request& request) override {
        if (request.empty() || faults_.changes == 0) return MemoryStore::exchange(request);
        --faults_.changes;
        return *faults_.change;
    }

  private:
    Faults& faults_;
};

}  // namespace wq::testing
