#include "node/process/task_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/folder.h"

namespace wq::node::process {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

class Environment : public testing::Test {
  protected:
    BaseEnvironment base(std::vector<std::string> inherited, const Variables& set = {}) {
        std::vector<char*> entries;
        for (std::string& entry : inherited) entries.push_back(entry.data());
        entries.push_back(nullptr);
        return {entries.data(), set};
    }
    std::vector<std::string> of_task(const BaseEnvironment& base, Count cores,
                                     const EnvironmentChanges& changes = {}) {
        TaskEnvironment task(base, "", "", hosts_);
        std::vector<std::string> entries;
        for (char* const* entry = task.prepare({TaskId(0), 1, {cores, 0, 0, 0}, "", ""}, changes);
             *entry != nullptr; ++entry)
            entries.emplace_back(*entry);
        return entries;
    }
    std::string content(const std::string& name) {
        std::ifstream file(folder_ / name);
        std::string line;
        std::getline(file, line);
        return line;
    }

    test::Folder folder_;
    HostFiles hosts_{folder_.path()};
};

TEST_F(Environment, HasTheUsersSettingsOfMpiAndNotThoseOfMpirun) {
    const std::vector<std::string> users{"OMPI_MCA_btl=tcp,self",
                                         "OMPI_MCA_rmaps_base_oversubscribe=1",
                                         "OMPI_ALLOW_RUN_AS_ROOT=1",
                                         "OMPI_MCA_orte_keep_fqdn_hostnames=1",
                                         "PRTE_MCA_prte_if_include=eth0",
                                         "PMIX_MCA_gds=hash",
                                         "UCX_TLS=tcp",
                                         "OPAL_PREFIX=/opt/ompi"};
    std::vector<std::string> inherited = users;
    for (const char* of_mpirun : {"OMPI_COMMAND=wq", "OMPI_COMM_WORLD_RANK=0", "OMPI_MCA_ess_base_jobid=1",
                                  "OMPI_MCA_orte_hnp_uri=1", "OMPI_MCA_orte_parent_uri=1", "PMIX_RANK=0",
                                  "PMI_FD=5", "OMPI_MCA_rmaps_base_mapping_policy=ppr:1:node",
                                  "PRTE_LAUNCHED=1", "HYDI_CONTROL_FD=5", "MPI_LOCALRANKID=0"})
        inherited.emplace_back(of_mpirun);
    const std::vector<std::string> entries = base(inherited).entries();
    EXPECT_THAT(entries, IsSupersetOf(users));
    for (std::size_t i = users.size(); i < inherited.size(); ++i)
        EXPECT_THAT(entries, Not(Contains(inherited[i])));
    EXPECT_THAT(base({"OMPI_MCA_rmaps_base_mapping_policy=socket"}).entries(),
                Contains("OMPI_MCA_rmaps_base_mapping_policy=socket"))
        << "no mpirun set it";
}

TEST_F(Environment, HidesListsAndCountsOfTheBatchSystem) {
    const std::vector<std::string> job{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=a,b", "SLURM_STEP_NUM_TASKS=2",
                                       "SLURM_PROCID=1", "PBS_NODEFILE=/n"};
    const BaseEnvironment hidden = base(job);
    EXPECT_THAT(
        hidden.entries(),
        AllOf(IsSupersetOf({"SLURM_JOB_ID=7", "SLURM_OVERLAP=1", "WORK_QUEUE_OUTER_SLURM_JOB_NODELIST=a,b",
                            "WORK_QUEUE_OUTER_SLURM_STEP_NUM_TASKS=2", "WORK_QUEUE_OUTER_SLURM_PROCID=1",
                            "WORK_QUEUE_OUTER_PBS_NODEFILE=/n", "HYDRA_LAUNCHER=fork"}),
              Not(Contains(StartsWith("SLURM_PROCID")))));
    const std::vector<std::string> kept = of_task(hidden, 1, hidden.as_batch_system());
    EXPECT_THAT(kept, IsSupersetOf(job));
    for (const char* const gone : {"WORK_QUEUE_OUTER", "SLURM_OVERLAP", "OMPI_MCA", "PRTE_MCA", "HYDRA"})
        EXPECT_THAT(kept, Not(Contains(StartsWith(gone))));
    const BaseEnvironment all_keep = base(job, {{"WORK_QUEUE_BATCH_ENVIRONMENT", "keep"}});
    EXPECT_THAT(of_task(all_keep, 1), AllOf(IsSupersetOf(job), Not(Contains(StartsWith("OMPI_MCA"))),
                                            Not(Contains(StartsWith("HYDRA")))));
}

TEST_F(Environment, NamesThisNodeWithTheTasksCoresForMpirun) {
    const BaseEnvironment plain = base({});
    EXPECT_THAT(of_task(plain, 4),
                IsSupersetOf({"OMPI_MCA_orte_default_hostfile=" + folder_.path() + "/work_queue_hosts.4",
                              "PRTE_MCA_prte_default_hostfile=" + folder_.path() + "/work_queue_hosts.4",
                              "HYDRA_HOST_FILE=" + folder_.path() + "/work_queue_hosts.4.hydra"}));
    EXPECT_THAT(content("work_queue_hosts.4"), testing::EndsWith(" slots=4"));
    EXPECT_THAT(content("work_queue_hosts.4.hydra"), testing::EndsWith(":4"));
    of_task(plain, Count::of_thousandths(500));
    EXPECT_THAT(content("work_queue_hosts.1"), testing::EndsWith(" slots=1"));
    EXPECT_THAT(base({"PATH=/nowhere"}).entries(), Contains("OMPI_MCA_plm_rsh_agent="));
    HostFiles nowhere("");
    EXPECT_EQ(nowhere.of(1).hydra, "");
}

TEST_F(Environment, LeavesWhatTheUserSetForMpirun) {
    const std::vector<std::string> users{
        "OMPI_MCA_plm=rsh", "OMPI_MCA_orte_default_hostfile=/home/me/mpi_hosts.txt", "HYDRA_LAUNCHER=ssh"};
    const std::vector<std::string> entries = of_task(base(users), 2);
    EXPECT_THAT(entries, IsSupersetOf(users));
    EXPECT_THAT(entries,
                AllOf(Not(Contains(StartsWith("HYDRA_HOST_FILE"))), Not(Contains(StartsWith("HYDRA_RMK"))),
                      Contains(StartsWith("OMPI_MCA_ras=^slurm"))));
    EXPECT_THAT(
        of_task(base({"HYDRA_LAUNCHER=fork", "HYDRA_HOST_FILE=/tmp/work_queue.abc/work_queue_hosts.8.hydra"}),
                2),
        Contains("HYDRA_HOST_FILE=" + folder_.path() + "/work_queue_hosts.2.hydra"))
        << "that of the task in which we run";
}

}  // namespace
}  // namespace wq::node::process
