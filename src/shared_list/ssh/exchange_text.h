// Requests and answers of a list at a master, as the helper there speaks (master/*.sh).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace wq::shared_list::ssh
