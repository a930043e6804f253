// Executors in a program that has an MpiSession: their zygotes are forked by the launcher's, which is older
// than MPI.
#include "api/session_parts.h"
#include "api/setup_error.h"
#include "functions/pool/job_executor.h"
#include "work_queue/job_executor.h"

namespace wq::detail {

JobExecutorCore::JobExecutorCore(MpiSession& session, JobFunction function, int nb_workers,
                                 const JobExecutorOptions& options) {
    functions::pool::check_options(nb_workers, options);
    functions::pool::ZygoteLink zygote;
    if (nb_workers > 0)
        zygote = api::checked(functions::pool::ask_for_zygote([&](int socket) {
            return session.parts().launcher->fork_child(socket, functions::pool::zygote_main);
        }));
    impl_ = std::make_unique<Impl>(function, nb_workers, options, std::move(zygote));
}

}  // namespace wq::detail
