// What is behind a JobExecutor: an Executor that abort_all() finds.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "functions/pool/executor.h"

namespace wq::detail {

class JobExecutorCore::Impl : public functions::pool::Executor {
  public:
    template <class... Given>
    explicit Impl(Given&&... given) : Executor(std::forward<Given>(given)...) {
        const std::lock_guard lock(all().mutex);
        all().executors.push_back(this);
    }
    ~Impl() {
        const std::lock_guard lock(all().mutex);
        std::erase(all().executors, this);
    }

    static void abort_all() {
        const std::lock_guard lock(all().mutex);
        for (Impl* const one : all().executors)
            if (!one->is_copy()) one->abort();
    }

  private:
    struct All {
        std::mutex mutex;
        std::vector<Impl*> executors;
    };
    static All& all() {
        static All& all = *new All;
        return all;
    }
};

}  // namespace wq::detail
