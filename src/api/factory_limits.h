// The parameter fetch-factory: factories announce to the catalog how many workers they may have
// (`max_workers`), and the manager releases those of their workers that are too many, for example after a
// factory's configuration was changed. Anyone may announce a factory, so it is off by default.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "net/catalog/catalog_hosts.h"

namespace wq::api {

class FactoryLimits {
  public:
    // By the factory's name: how many workers it may have.
    using Keep = std::function<void(const std::map<std::string, std::size_t>& most)>;

    // `keep` is called by look(), after each answer.
    explicit FactoryLimits(Keep keep);
    ~FactoryLimits();
    FactoryLimits(const FactoryLimits&) = delete;

    // Nothing is asked without hosts, or while it is off.
    void set_hosts(net::catalog::CatalogHosts hosts) { hosts_ = std::move(hosts); }
    void turn(bool on);
    // Each turn of the loop; asks every 30 s. Returns when to call it next.
    std::optional<Instant> look(Instant now);

  private:
    struct Asking;

    const Keep keep_;
    net::catalog::CatalogHosts hosts_;
    bool on_ = false;
    Instant next_{};
    std::unique_ptr<Asking> asking_;  // since it was first turned on
};

}  // namespace wq::api
