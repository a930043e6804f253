#include "api/factory_limits.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/background_thread.h"
#include "base/wake.h"
#include "net/catalog/query.h"

namespace wq::api {

namespace {

constexpr Duration asked_every = std::chrono::seconds(30);
constexpr Duration patience_with_catalog = std::chrono::seconds(10);

// The largest of each name, so that a record that is left over releases nobody.
std::map<std::string, std::size_t> limits_in(const std::vector<net::catalog::Json>& records) {
    std::map<std::string, std::size_t> limits;
    for (const net::catalog::Json& record : records) {
        const auto name = record.find("factory_name");
        const auto most = record.find("max_workers");
        if (name == record.end() || !name->is_string() || most == record.end() || !most->is_number_unsigned())
            continue;
        std::size_t& limit = limits[name->get<std::string>()];
        limit = std::max(limit, most->get<std::size_t>());
    }
    return limits;
}

}  // namespace

struct FactoryLimits::Asking {
    Wake ended;
    bool waits = false;  // for an answer
    BackgroundThread thread;

    ~Asking() { ended.set(); }
};

FactoryLimits::FactoryLimits(Keep keep) : keep_(std::move(keep)) {}
FactoryLimits::~FactoryLimits() = default;

void FactoryLimits::turn(bool on) {
    if (on && !on_) next_ = {};
    on_ = on;
}

std::optional<Instant> FactoryLimits::look(Instant now) {
    if (asking_) asking_->thread.finish();
    if (!on_ || hosts_.empty()) return std::nullopt;
    if (now < next_) return next_;
    next_ = now + asked_every;
    if (!asking_) asking_ = std::make_unique<Asking>();
    if (std::exchange(asking_->waits, true)) return next_;
    asking_->thread.post([this, hosts = hosts_, stop = asking_->ended.descriptor()]() -> Background::Then {
        net::catalog::CatalogClient client(hosts);
        const auto records =
            client.query(R"(type=="wq_factory")", instant_now() + patience_with_catalog, stop);
        auto limits = records ? limits_in(*records) : std::map<std::string, std::size_t>();
        return [this, limits = std::move(limits)] {
            asking_->waits = false;
            if (on_ && !limits.empty()) keep_(limits);
        };
    });
    return next_;
}

}  // namespace wq::api
