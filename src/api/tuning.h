// Settings that tune() accepts by Work Queue's names. share/doc/managers.md says which of them have an
// effect.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/model/events.h"

namespace wq::api {

class Tuning {
  public:
    Tuning();

    // Returns the parameter's main name, also if `name` is an alias. Error (usage): unknown name, or value
    // out of bounds.
    Result<std::string> set(const std::string& name, double value);
    void begin(std::string_view name, double value);  // replaces the table's initial value
    double get(std::string_view name) const;          // by the main name
    std::uint32_t count(std::string_view name) const;
    // What changes for the core with the parameter of this main name.
    engine::model::Tuned of_core(std::string_view name) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, double, std::less<>> values_;
};

}  // namespace wq::api
