#include "ranks/mpi/launch_environment.h"

#include <gmock/gmock.h>

#include <map>

namespace wq::ranks::mpi {
namespace {

using ::testing::HasSubstr;

LaunchEnvironment environment_of(const std::map<std::string, std::string>& variables) {
    return read_launch_environment([&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    });
}

TEST(LaunchEnvironment, AloneThereIsNoLauncher) {
    EXPECT_FALSE(environment_of({}).launched);
    EXPECT_TRUE(check_world_size(environment_of({}), 1).ok());
}

TEST(LaunchEnvironment, OpenMpi) {
    const auto found =
        environment_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_NAMESPACE", "n"}, {"PMIX_RANK", "0"}});
    EXPECT_TRUE(found.launched);
    EXPECT_EQ(found.manager, ProcessManager::pmix);
    EXPECT_EQ(found.expected_size, 4);
    EXPECT_TRUE(found.ends_job_at_failure);
    EXPECT_TRUE(found.kills_after_signal);
    EXPECT_EQ(environment_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}).rank, 3);
}

// A task of a Slurm job, or of srun with one process, has SLURM_PROCID too, and answers for itself.
TEST(LaunchEnvironment, WithoutALauncherItSpeaksForItself) {
    EXPECT_EQ(environment_of({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}).rank, 0);
}

TEST(LaunchEnvironment, Hydra) {
    const auto found = environment_of({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"PMI_FD", "9"}});
    EXPECT_TRUE(found.launched);
    EXPECT_EQ(found.manager, ProcessManager::hydra);
    EXPECT_EQ(found.expected_size, 3);
    EXPECT_FALSE(found.ends_job_at_failure);
    EXPECT_FALSE(found.kills_after_signal);
    EXPECT_TRUE(found.forgets_code_after_signal);
}

TEST(LaunchEnvironment, SrunWithPmix) {
    const auto found = environment_of({{"PMIX_NAMESPACE", "slurm.pmix.1.0"},
                                       {"PMIX_RANK", "1"},
                                       {"SLURM_PROCID", "1"},
                                       {"SLURM_STEP_ID", "0"},
                                       {"SLURM_STEP_NUM_TASKS", "2"}});
    EXPECT_TRUE(found.launched);
    EXPECT_EQ(found.manager, ProcessManager::pmix);
    EXPECT_EQ(found.expected_size, 2);
    EXPECT_FALSE(found.ends_job_at_failure);
    EXPECT_FALSE(found.kills_after_signal);
}

TEST(LaunchEnvironment, SrunWithoutPmixIsRefusedWithAdvice) {
    const auto found = environment_of({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}});
    EXPECT_FALSE(found.launched);
    const Status alone = check_world_size(found, 1);
    ASSERT_FALSE(alone.ok());
    EXPECT_THAT(alone.error().message, HasSubstr("srun --mpi=pmix"));
    EXPECT_EQ(alone.error().code, ExitCode::usage);
}

TEST(LaunchEnvironment, ABatchScriptIsRightlyAlone) {
    const auto found = environment_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}});
    EXPECT_FALSE(found.launched);
    EXPECT_TRUE(check_world_size(found, 1).ok());
}

TEST(LaunchEnvironment, ALauncherOfAnotherMpiIsNamed) {
    const auto found = environment_of({{"OMPI_COMM_WORLD_SIZE", "4"}});
    const Status alone = check_world_size(found, 1);
    ASSERT_FALSE(alone.ok());
    EXPECT_THAT(alone.error().message, HasSubstr("a different MPI"));
    EXPECT_TRUE(check_world_size(found, 4).ok());
}

TEST(LaunchEnvironment, NonsenseIsNoNumber) {
    EXPECT_FALSE(environment_of({{"OMPI_COMM_WORLD_SIZE", "four"}}).launched);
}

}  // namespace
}  // namespace wq::ranks::mpi
