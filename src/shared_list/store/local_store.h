// A shared list on this machine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared_list/store/list_store.h"

namespace wq::shared_list::store {

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
