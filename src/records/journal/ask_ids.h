// The ids of what tasks ask for, from 1. The first 999 different asks have ids of their own, all further ones
// share one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "records/journal/records.h"

namespace wq::records::journal {

class AskIds {
  public:
    struct Known {
        AskId id;
        bool is_new = false;  // the first with this id
    };
    Known id_of(const engine::model::Needs& needs, const std::vector<std::string>& features);
    Known further();

  private:
    std::map<std::pair<engine::model::Needs, std::vector<std::string>>, AskId> ids_;
    bool has_further_ = false;
};

}  // namespace wq::records::journal
