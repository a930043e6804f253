#include "functions/pool/job_executor.h"

#include "work_queue/job_executor.h"

namespace wq::detail {

using functions::pool::Executor;

namespace {

template <class T>
T checked(Result<T> result) {
    if (!result) throw SetupError(result.error().message, to_int(result.error().code));
    return std::move(*result);
}

}  // namespace

JobExecutorCore::JobExecutorCore(JobFunction function, int nb_workers, const JobExecutorOptions& options) {
    functions::pool::check_options(nb_workers, options);
    functions::pool::ZygoteLink zygote;
    if (nb_workers > 0) zygote = checked(functions::pool::fork_zygote());
    impl_ = std::make_unique<Impl>(function, nb_workers, options, std::move(zygote));
}

JobExecutorCore::~JobExecutorCore() {
    if (impl_ && impl_->is_copy()) static_cast<void>(impl_.release());
}

void JobExecutorCore::start(std::chrono::nanoseconds timeout) {
    impl_->start(timeout);
}
void JobExecutorCore::close(std::chrono::nanoseconds timeout) {
    impl_->close(timeout);
}
void JobExecutorCore::abort() {
    impl_->abort();
}
void JobExecutorCore::abort_all() {
    Impl::abort_all();
}
bool JobExecutorCore::is_full() const {
    return impl_->is_full();
}
bool JobExecutorCore::is_idle() const {
    return impl_->is_idle();
}
bool JobExecutorCore::put(Batch& batch) {
    return impl_->put(batch);
}
std::optional<JobResult<Batch>> JobExecutorCore::take(std::optional<std::chrono::nanoseconds> timeout) {
    return impl_->take(timeout);
}
void JobExecutorCore::reset() {
    impl_->reset();
}
void JobExecutorCore::job_report(std::ostream& to) const {
    impl_->report(to);
}

}  // namespace wq::detail
