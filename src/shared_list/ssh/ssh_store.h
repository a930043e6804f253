// Requests and answers of a list at a master, as the helper there speaks (master/*.sh).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared_list/ssh/remote_helper.h"
#include "shared_list/store/list_place.h"
#include "shared_list/store/list_store.h"

namespace wq::shared_list::ssh {

enum class SendFile : std::uint8_t { no, yes, if_other };

// `new_log`: the name of a log that is begun.
std::string exchange_request(const store::Request& request, SendFile file, const std::string& new_log);

// An answer's first line; the bytes follow in this order.
struct AnswerHead {
    bool changed = false;
    store::Version now;
    bool whole_log = false;
    std::uint64_t log_bytes = 0;
    struct Grown {
        std::uint64_t number = 0;
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        std::uint64_t begun = 0;  // bytes before `from`, see whole_lines()
    };
    std::size_t old_files = 0;
    std::vector<Grown> old;
    std::optional<std::uint64_t> file_bytes;  // and a line with the identity that the list had then
};
std::optional<AnswerHead> answer_head(std::string_view words);

// "INODE_SIZE_MTIME" as it travels, and back.
std::string identity_from_word(std::string word);

// Of an answer that has nothing but bytes after it.
std::optional<std::uint64_t> bytes_announced(std::string_view words);
std::optional<std::vector<store::Sign>> signs_of(std::string_view words);
std::optional<store::MasterTime> time_of(std::string_view words);

// A shared list at a master that has sshd, a POSIX shell and flock.
class SshStore final : public store::ListStore {
  public:
    // `host`: "user@host"; `file`: there, from the home directory if it is not absolute. `ssh`: the command
    // with its options, see ssh_command(). `say` gets lines for the user.
    SshStore(std::string host, std::string file, std::function<void(const std::string&)> say,
             std::vector<std::string> ssh = ssh_command());
    SshStore(const SshStore&) = delete;
    SshStore& operator=(const SshStore&) = delete;

    std::string name() const override { return master_.host + ":" + master_.list; }
    Status open() override { return open_as(OpenMode::to_write); }
    Status open_to_read() override { return open_as(OpenMode::to_read); }
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
    Status open_as(OpenMode mode);
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
    OpenMode mode_ = OpenMode::to_write;
    std::unique_ptr<RemoteHelper> helper_;  // null: not connected
    bool log_is_torn_ = false;              // what was seen last of the log has no line end
};

// The store of a list, here or on a master. It is not opened yet. `say`: see SharedList.
std::unique_ptr<store::ListStore> store_at(const store::ListPlace& place,
                                           std::function<void(const std::string&)> say);

}  // namespace wq::shared_list::ssh
