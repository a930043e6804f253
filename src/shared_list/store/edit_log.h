// The log of a list, FILE.runtask/edits. All but sync() and read() need the list's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "shared_list/store/list_place.h"

namespace wq::shared_list::store {

class EditLog {
  public:
    // Begins one if there is none.
    static Result<EditLog> open(const Paths& paths);
    // Only to read(); nullopt: there is none.
    static std::optional<EditLog> open_to_read(const Paths& paths);
    // Puts a new log in the place of the present one.
    static Result<EditLog> begin(const Paths& paths, std::string_view records);

    const std::string& name() const { return name_; }
    std::uint64_t bytes() const { return bytes_; }

    Result<std::string> read(std::uint64_t from) const;
    // All or nothing. A last line that a crash cut off is ended first.
    Status append(std::string_view records);
    // On the disk. Error `unreachable`: it may be there or not.
    Status sync() const;

  private:
    static std::optional<EditLog> open_as(const Paths& paths, int flags);
    EditLog(std::string path, Descriptor file, std::string name, std::uint64_t bytes)
        : path_(std::move(path)), file_(std::move(file)), name_(std::move(name)), bytes_(bytes) {}

    std::string path_;
    Descriptor file_;
    std::string name_;
    std::uint64_t bytes_ = 0;
};

}  // namespace wq::shared_list::store
