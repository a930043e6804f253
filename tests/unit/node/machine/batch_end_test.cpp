#include "node/machine/batch_job.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace wq::node::machine {
namespace {

constexpr WallMicros now = 1'790'000'000'000'000;

// Local time, as these commands write it.
class InUtc : public ::testing::Test {
  protected:
    InUtc() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
    ~InUtc() override {
        ::unsetenv("TZ");
        ::tzset();
    }
};

using Scontrol = InUtc;

TEST_F(Scontrol, NamesTheEnd) {
    EXPECT_EQ(end_in_scontrol("JobId=4711 JobName=wrap\n"
                              "   RunTime=00:00:05 TimeLimit=01:00:00 TimeMin=N/A\n"
                              "   StartTime=2026-11-20T16:00:00 EndTime=2026-11-20T17:00:00 Deadline=N/A\n"
                              "   PreemptEligibleTime=2026-11-20T16:00:00 PreemptTime=None\n"),
              1'795'194'000'000'000);
}

TEST_F(Scontrol, OtherTextNamesNone) {
    for (const char* text :
         {"", "EndTime=", "EndTime=Unknown Deadline=N/A", "EndTime=None", "MyEndTime=2026-11-20T17:00:00",
          "EndTime=2026-11-20", "EndTime=2026-13-40T99:00:00",
          "slurm_load_jobs error: Invalid job id specified"})
        EXPECT_EQ(end_in_scontrol(text), std::nullopt) << text;
}

TEST(Qstat, TellsWhatIsLeft) {
    const char* const text =
        "Job Id: 12.server\n    Job_Name = worker\n    resources_used.cput = 00:00:01\n"
        "    resources_used.walltime = 00:10:00\n    Resource_List.nodes = 1:ppn=4\n"
        "    Resource_List.walltime = 01:00:00\n    ctime = Fri Nov 20 15:00:00 2026\n";
    EXPECT_EQ(end_in_qstat(text, now), now + 50LL * 60 * 1'000'000);
}

TEST(Qstat, AtTheStartNothingIsUsed) {
    EXPECT_EQ(end_in_qstat("    Resource_List.walltime = 02:00:00\n", now), now + 7200LL * 1'000'000);
}

TEST(Qstat, WithoutALimitThereIsNoEnd) {
    for (const char* text : {"", "qstat: Unknown Job Id", "resources_used.walltime = 00:10:00",
                             "Resource_List.walltime = soon", "Resource_List.walltime = -1:00:00"})
        EXPECT_EQ(end_in_qstat(text, now), std::nullopt) << text;
    EXPECT_EQ(end_in_qstat("Resource_List.walltime = 60\nresources_used.walltime = 61\n", now), now);
}

TEST(PbsTimes, HaveUpToFourParts) {
    EXPECT_EQ(pbs_seconds("90"), 90);
    EXPECT_EQ(pbs_seconds("01:30"), 90);
    EXPECT_EQ(pbs_seconds("100:00:00"), 360'000);
    EXPECT_EQ(pbs_seconds("1:00:00:01"), 86'401);
    for (const char* text : {"", ":", "1:2:3:4:5", "99999999999999999999", "9223372036854775807:0", "1h"})
        EXPECT_EQ(pbs_seconds(text), std::nullopt) << text;
}

TEST(Condor, TheEarliestBoundCounts) {
    const std::int64_t start = now / 1'000'000 - 100;
    const std::string job = "MyType = \"Job\"\nJobCurrentStartDate = " + std::to_string(start) +
                            "\nAllowedJobDuration = 3600\nallowedexecuteduration = 7200\n";
    EXPECT_EQ(end_in_condor_ads(job, "", now), (start + 3600) * 1'000'000);
    EXPECT_EQ(end_in_condor_ads(job, "GLIDEIN_ToDie = " + std::to_string(start + 1800) + "\n", now),
              (start + 1800) * 1'000'000);
    EXPECT_EQ(end_in_condor_ads("AllowedExecuteDuration = 60\n", "", now),
              now / 1'000'000 * 1'000'000 + 60'000'000);
    EXPECT_EQ(end_in_condor_ads("AllowedJobDuration = undefined\n", "DaemonStopTime = -5\n", now),
              std::nullopt);
}

// Commands in a folder at the front of PATH.
class BatchEndCommands : public InUtc {
  protected:
    BatchEndCommands() {
        std::string pattern = std::filesystem::temp_directory_path() / "batch_end.XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
        path_ = std::getenv("PATH");
        ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
    }
    ~BatchEndCommands() override {
        ::setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(folder_);
    }
    void command(const std::string& name, const std::string& script) {
        const auto path = folder_ / name;
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        ::chmod(path.c_str(), 0755);
    }
    std::optional<WallMicros> ask(Duration limit = std::chrono::seconds(60)) {
        return BatchEnd::ask(
                   [this](const char* name) {
                       const auto found = variables_.find(name);
                       return found == variables_.end() ? nullptr : found->second.c_str();
                   },
                   now)
            .wait(limit);
    }

    std::filesystem::path folder_;
    std::string path_;
    std::map<std::string, std::string> variables_;
};

TEST_F(BatchEndCommands, OutsideOfAJobThereIsNone) {
    EXPECT_EQ(ask(), std::nullopt);
}

TEST_F(BatchEndCommands, TheVariableIsEnough) {
    command("scontrol", "echo EndTime=2026-11-20T17:00:00");
    variables_ = {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "1795190000"}};
    EXPECT_EQ(ask(), 1'795'190'000'000'000);
}

// In nanoseconds from now they would overflow.
TEST_F(BatchEndCommands, EndsThatAreNoTimesAreNone) {
    for (const char* end : {"1000000000000", "9223372036854775807", "99999999999999999999", "-5", "soon"}) {
        variables_ = {{"SLURM_JOB_END_TIME", end}};
        EXPECT_EQ(ask(), std::nullopt) << end;
    }
    command("scontrol", "echo EndTime=9999-11-20T17:00:00");
    variables_ = {{"SLURM_JOB_ID", "7"}};
    EXPECT_EQ(ask(), std::nullopt);
}

TEST_F(BatchEndCommands, ScontrolIsAskedForTheJob) {
    command("scontrol",
            "test \"$*\" = 'show job 7' && echo ' StartTime=Unknown EndTime=2026-11-20T17:00:00 X=1'");
    variables_ = {{"SLURM_JOB_ID", "7"}};
    EXPECT_EQ(ask(), 1'795'194'000'000'000);
}

TEST_F(BatchEndCommands, QstatIsAskedForTheJob) {
    command("qstat", "test \"$*\" = '-f 7.server' && echo '  Resource_List.walltime = 00:01:00'");
    variables_ = {{"PBS_JOBID", "7.server"}};
    EXPECT_EQ(ask(), now + 60'000'000);
}

TEST_F(BatchEndCommands, WhereQstatFailsTheVariableCounts) {
    command("qstat", "exit 1");
    variables_ = {{"PBS_JOBID", "7"}, {"PBS_WALLTIME", "3600"}};
    EXPECT_EQ(ask(), now + 3'600'000'000);
}

TEST_F(BatchEndCommands, OneThatDoesNotAnswerHoldsNobodyUp) {
    command("scontrol", "exec tail -f /dev/null");
    variables_ = {{"SLURM_JOB_ID", "7"}};
    EXPECT_EQ(ask(std::chrono::milliseconds(50)), std::nullopt);
}

TEST_F(BatchEndCommands, OneThatIsNotThereIsNoTrouble) {
    ::setenv("PATH", folder_.c_str(), 1);
    variables_ = {{"SLURM_JOB_ID", "7"}};
    EXPECT_EQ(ask(), std::nullopt);
}

TEST_F(BatchEndCommands, CondorsFilesAreRead) {
    std::ofstream(folder_ / "machine") << "DaemonStopTime = 1795190000\n";
    variables_ = {{"_CONDOR_MACHINE_AD", folder_ / "machine"}, {"_CONDOR_JOB_AD", folder_ / "none"}};
    EXPECT_EQ(ask(), 1'795'190'000'000'000);
}

}  // namespace
}  // namespace wq::node::machine
