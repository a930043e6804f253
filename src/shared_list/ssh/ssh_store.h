// A shared list at a master that has sshd, a POSIX shell and flock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared_list/ssh/exchange_text.h"
#include "shared_list/ssh/remote_helper.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::ssh {

class SshStore final : public store::ListStore {
  public:
    // `host`: "user@host"; `file`: there, from the home directory if it is not absolute. `ssh`: the command
    // with its options, see ssh_command(). `say` gets lines for the user.
    SshStore(std::string host, std::string file, std::function<void(const std::string&)> say,
             std::vector<std::string> ssh = ssh_command());
    SshStore(const SshStore&) = delete;
    SshStore& operator=(const SshStore&) = delete;

    std::string name() const override { return master_.host + ":" + master_.list; }
    Status open() override { return open_as(Opening::to_write); }
    Status open_to_read() override { return open_as(Opening::to_read); }
    Result<store::Answer> read() override;
    Result<store::Answer> exchange(const store::Request& request) override;
    Result<std::string> previous_log() override;
    Status ask_for_turn(const std::string& name) override;
    Status beat(text::WorkerId worker, Duration lease) override;
    Status renew_signs() override;
    Status remove_sign(text::WorkerId worker) override;
    Result<std::vector<store::Sign>> signs() override;
    void on_signs(std::function<void(Instant)> given) override { waiting_.signed_at = std::move(given); }
    Result<store::MasterTime> time() override;
    Result<std::unique_ptr<Held>> hold() override;

  private:
    Status open_as(Opening opening);
    Result<std::string> ask(const std::string& request);
    Result<store::Answer> exchange_once(const store::Request& request, SendFile file);
    Result<store::Answer> received(const AnswerHead& head);
    Status receive_old(const AnswerHead& head, store::Answer& answer);
    Status fetch_list(store::Answer& answer);
    Error broken();

    Master master_;
    store::Say say_;
    std::map<text::WorkerId, Duration> given_;  // signs, with their leases
    Meanwhile waiting_;                         // of given_
    Instant signs_given_{};                     // all of them
    Opening opening_ = Opening::to_write;
    std::unique_ptr<RemoteHelper> helper_;  // null: not connected
    bool log_is_torn_ = false;              // what was seen last of the log has no line end
};

}  // namespace wq::shared_list::ssh
