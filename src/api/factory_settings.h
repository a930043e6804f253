// A factory's settings by the names that they have as options and in the configuration file of
// work_queue_factory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/catalog/catalog_client.h"
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

// The parameter fetch-factory: factories announce to the catalog how many workers they may have
// (`max_workers`), and the manager releases those of their workers that are too many, for example after a
// factory's configuration was changed. Anyone may announce a factory, so it is off by default.
class FactoryLimits {
  public:
    // By the factory's name: how many workers it may have.
    using Keep = std::function<void(const std::map<std::string, std::size_t>& most)>;

    // `keep` is called by check_answers(), after each answer.
    explicit FactoryLimits(Keep keep);
    ~FactoryLimits();
    FactoryLimits(const FactoryLimits&) = delete;

    // Nothing is asked without hosts, or while it is off.
    void set_hosts(net::catalog::CatalogHosts hosts) { hosts_ = std::move(hosts); }
    void set_limiting(bool on);
    // Each turn of the loop; asks every 30 s. Returns when to call it next.
    std::optional<Instant> check_answers(Instant now);

  private:
    struct Asking;

    const Keep keep_;
    net::catalog::CatalogHosts hosts_;
    bool on_ = false;
    Instant next_{};
    std::unique_ptr<Asking> asking_;  // since it was first turned on
};

}  // namespace wq::api
