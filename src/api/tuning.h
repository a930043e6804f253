// The settings that tune() knows by Work Queue's names. share/doc/managers.md says which of them act.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wq::api {

class Tuning {
  public:
    Tuning();

    // Its name proper: aliases are taken too. Error (usage): no such name, or a value out of its bounds.
    Result<std::string> set(const std::string& name, double value);
    void begin(std::string_view name, double value);  // instead of the table's own value
    double get(std::string_view name) const;          // by the name proper

  private:
    mutable std::mutex mutex_;
    std::map<std::string, double, std::less<>> values_;
};

}  // namespace wq::api
