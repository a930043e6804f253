// A factory's settings by the names that they have as options and in the configuration file of
// work_queue_factory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "work_queue/factory.h"

namespace wq::api {

// Sets the one of this name from a text such as the command line has ("4G", "15m"); "" for no text. Some can
// be set only if `running` is false. Errors (usage): unknown name, bad value, too late.
Status specify(FactoryOptions& options, bool running, const std::string& name, const std::string& value);

// Why an option of CCTools' factory is refused, and what to use; "": it is no such option.
std::string why_refused(const std::string& name);

// The names: of those that can change while a factory runs, and of those that are read only at its start.
std::vector<std::string> setting_names();
std::vector<std::string> option_names();

// Those that can change while a factory runs, as its configuration file has them.
std::string json_of(FactorySettings settings);

}  // namespace wq::api
