// Signs of life as files: FILE.runtask/alive/K has the lease in seconds, and was touched when the worker
// last gave a sign.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::store {

Status write_sign(const std::string& folder, text::WorkerId worker, Duration lease);
Status remove_sign(const std::string& folder, text::WorkerId worker);
// `may_write`: ages are by the clock of the file system, which only a file that is written tells; else by
// this machine's.
Result<std::vector<Sign>> read_signs(const std::string& folder, bool may_write);

// How often the signs of workers with these leases are written again by one who is busy otherwise.
std::chrono::seconds between_signs(const std::map<text::WorkerId, Duration>& leases);

// The text of a sign, always equally long so that it is written over and never empty; and back.
std::string text_of_lease(Duration lease);
Duration lease_of_text(const std::string& text);

// A list on this machine as one sees it who only looks: without its lock, and without making anything.

// Error: there is no list, or it cannot be read.
Status find_list(const Paths& paths, const std::string& name);
// See ListStore::read().
Result<Answer> view_list(const Paths& paths);

// A shared list on this machine.
class LocalStore final : public ListStore {
  public:
    // `say` gets lines for the user, such as that it waits for the lock.
    LocalStore(std::string file, std::function<void(const std::string&)> say);
    ~LocalStore() override;

    std::string name() const override { return name_; }
    Status open() override;
    Status open_to_read() override;
    Result<Answer> read() override;
    Result<Answer> exchange(const Request& request) override;
    Result<std::string> previous_log() override;
    Status ask_for_turn(const std::string& name) override;
    std::optional<std::string> state() override;
    Status beat(text::WorkerId worker, Duration lease) override;
    Status renew_signs() override;
    Status remove_sign(text::WorkerId worker) override;
    Result<std::vector<Sign>> signs() override;
    void on_signs(std::function<void(Instant)> given) override { signed_at_ = std::move(given); }
    Result<MasterTime> time() override;
    Result<std::unique_ptr<Held>> hold() override;

  private:
    struct Opened;
    Status give_signs();

    std::string name_;
    std::function<void(const std::string&)> say_;
    std::unique_ptr<Opened> opened_;            // null: open() did not succeed
    std::map<text::WorkerId, Duration> given_;  // signs, with their leases
    std::function<void(Instant)> signed_at_;
    Instant signs_given_{};  // all of them
};

}  // namespace wq::shared_list::store
