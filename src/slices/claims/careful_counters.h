// Counters that are not used any more after a call has failed: slices are then asked for by message, and one
// line says so.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "ranks/tickets/sealed_batch.h"

namespace wq::slices::claims {

class CarefulCounters final : public ranks::tickets::Counters {
  public:
    using Say = std::function<void(const std::string&)>;
    explicit CarefulCounters(ranks::tickets::Counters* all = nullptr, Say say = {})
        : all_(all), served_(all), say_(std::move(say)) {}
    bool there() const { return all_ != nullptr; }
    bool may_serve() const {
        return served_ != nullptr;
    }  // others, also when it is not there for us any more

    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        return all_ == nullptr ? none() : checked(all_->add(counter, amount));
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        return all_ == nullptr ? none() : checked(all_->exchange(counter, value));
    }
    void serve() override {
        if (served_ != nullptr) served_->serve();
    }

  private:
    static Error none() { return {ExitCode::unreachable, "there is no counter"}; }
    Result<std::uint64_t> checked(Result<std::uint64_t> before) {
        if (before) return before;
        all_ = nullptr;
        if (say_) say_("slices are given by message from now on: " + before.error().message);
        return before;
    }

    ranks::tickets::Counters* all_;
    ranks::tickets::Counters* served_;
    Say say_;
};

}  // namespace wq::slices::claims
