#include "programs/run/run_options.h"

#include <gmock/gmock.h>

namespace wq::programs::run {
namespace {

using ::testing::HasSubstr;

Result<Command> parse_run(std::vector<const char*> words) {
    words.insert(words.begin(), "work_queue_run");
    return parse_command_line(static_cast<int>(words.size()), words.data());
}

TEST(RunOptions, AreReadWithTheirUnits) {
    const auto command = parse_run({"--cores",
                                    "2",
                                    "--memory",
                                    "4G",
                                    "--disk",
                                    "1",
                                    "--gpus=1",
                                    "--timeout",
                                    "1h30m",
                                    "--retries",
                                    "3",
                                    "--grace",
                                    "0.5",
                                    "--walltime",
                                    "1-00:00:00",
                                    "--output-limit",
                                    "64k",
                                    "--storage-timeout",
                                    "5m",
                                    "--max-losses",
                                    "1",
                                    "--index-variable",
                                    "SLURM_ARRAY_TASK_ID",
                                    "--shell",
                                    "/bin/dash",
                                    "-v",
                                    "tasks.sh"});
    ASSERT_TRUE(command) << command.error().message;
    const RunOptions& run = command->run;
    EXPECT_EQ(run.defaults.needs, (engine::model::Needs{2, 4096, 1, 1}));
    EXPECT_EQ(run.defaults.timeout, std::chrono::minutes(90));
    EXPECT_EQ(run.defaults.retries, 3u);
    EXPECT_EQ(run.grace, std::chrono::milliseconds(500));
    EXPECT_EQ(run.walltime, std::chrono::hours(24));
    EXPECT_EQ(run.output_limit, 64u << 10);
    EXPECT_EQ(run.storage_retry_limit, std::chrono::minutes(5));
    EXPECT_EQ(run.index_variable, "SLURM_ARRAY_TASK_ID");
    EXPECT_EQ(run.source.path, "tasks.sh");
    EXPECT_TRUE(run.verbose);
    EXPECT_FALSE(run.resume);
}

TEST(RunOptions, CopiesAndHostsThatFailAreAsTheUserWants) {
    const auto plain = parse_run({"a.sh"});
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->run.speculate, 0);
    EXPECT_FALSE(plain->run.keep_hosts);
    const auto both = parse_run({"--speculate", "1.5", "--keep-hosts", "a.sh"});
    ASSERT_TRUE(both) << both.error().message;
    EXPECT_EQ(both->run.speculate, 1.5);
    EXPECT_TRUE(both->run.keep_hosts);
    for (const char* wrong : {"0", "0.5", "nan", "inf", "2x", ""})
        EXPECT_FALSE(parse_run({"--speculate", wrong, "a.sh"})) << wrong;
}

TEST(RunOptions, ListenTakesAPortOrAnyFreeOne) {
    const auto port = [](std::vector<const char*> words) {
        const auto command = parse_run(std::move(words));
        EXPECT_TRUE(command) << command.error().message;
        return command ? command->run.listen : std::nullopt;
    };
    EXPECT_EQ(port({"tasks.sh"}), std::nullopt);
    EXPECT_EQ(port({"--listen", "tasks.sh"}), 0);
    EXPECT_EQ(port({"tasks.sh", "--listen"}), 0);
    EXPECT_EQ(port({"--listen", "9123", "tasks.sh"}), 9123);
    EXPECT_EQ(port({"--listen=9123", "tasks.sh"}), 9123);
    const auto named = parse_run({"--listen", "tasks.sh", "--name", "align"});
    ASSERT_TRUE(named) << named.error().message;
    EXPECT_EQ(named->run.name, "align");
    EXPECT_THAT(parse_run({"--listen=70000", "tasks.sh"}).error().message, HasSubstr("--listen"));
    EXPECT_THAT(parse_run({"--name", "align", "tasks.sh"}).error().message, HasSubstr("needs --listen"));
    EXPECT_EQ(parse_run({"--listen", "--reconnect-timeout", "2m", "tasks.sh"})->run.disconnect_limit,
              std::chrono::minutes(2));
    EXPECT_THAT(parse_run({"--reconnect-timeout", "2m", "tasks.sh"}).error().message,
                HasSubstr("needs --listen"));
}

TEST(RunOptions, GrowTakesASystemAndHowManyWorkers) {
    const auto grown = parse_run({"--grow", "slurm:2-20", "--grow-options", "--cores 4", "tasks.sh"});
    ASSERT_TRUE(grown) << grown.error().message;
    EXPECT_EQ(grown->run.grow->system, "slurm");
    EXPECT_EQ(grown->run.grow->least, 2);
    EXPECT_EQ(grown->run.grow->most, 20);
    EXPECT_EQ(grown->run.grow->options, "--cores 4");
    EXPECT_EQ(grown->run.listen, 0) << "workers come over TCP";
    const auto path = parse_run({"--grow", "./our:system:3", "--listen", "9123", "tasks.sh"});
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(path->run.grow->system, "./our:system");
    EXPECT_EQ(path->run.grow->least, 0);
    EXPECT_EQ(path->run.grow->most, 3);
    EXPECT_EQ(path->run.listen, 9123);
    for (const char* bad :
         {"slurm", "slurm:", ":3", "slurm:0", "slurm:5-3", "slurm:3-", "slurm:-3", "slurm:a-b"})
        EXPECT_THAT(parse_run({"--grow", bad, "tasks.sh"}).error().message, HasSubstr("is not SYSTEM:MAX"))
            << bad;
    EXPECT_THAT(parse_run({"--grow-options", "x", "tasks.sh"}).error().message, HasSubstr("needs --grow"));
}

TEST(RunOptions, MonitoringEnforcesWhereNothingElseIsSaid) {
    const auto monitoring = [](std::vector<const char*> words) {
        words.push_back("tasks.sh");
        const auto command = parse_run(words);
        EXPECT_TRUE(command) << command.error().message;
        return command->run;
    };
    EXPECT_EQ(monitoring({}).monitoring, engine::model::Monitoring{});
    EXPECT_EQ(monitoring({"--monitor"}).monitoring, (engine::model::Monitoring{true, true}));
    EXPECT_EQ(monitoring({"--monitor=measure"}).monitoring, (engine::model::Monitoring{true, false}));
    EXPECT_EQ(monitoring({"--monitor-output", "dir"}).monitoring, (engine::model::Monitoring{true, false}));
    EXPECT_EQ(monitoring({"--monitor-output", "dir"}).monitor_output, "dir");
    EXPECT_TRUE(monitoring({"--monitor=measure"}).ends_none);
    EXPECT_FALSE(monitoring({"--monitor"}).ends_none);
    EXPECT_FALSE(monitoring({"--monitor-output", "dir"}).ends_none) << "memory= holds as without it";
    EXPECT_EQ(monitoring({"--monitor-output=dir", "--monitor"}).monitoring,
              (engine::model::Monitoring{true, true}));
    EXPECT_EQ(monitoring({"--monitor", "--cores", "2"}).source.path, "tasks.sh");
    for (const char* bad : {"--monitor=loudly", "--monitor=", "--monitor-output="}) {
        const auto command = parse_run({bad, "tasks.sh"});
        ASSERT_FALSE(command) << bad;
        EXPECT_EQ(command.error().code, ExitCode::usage);
    }
    EXPECT_EQ(parse_run({"--monitor", "measure", "tasks.sh"}).error().message,
              "--monitor takes its value after '=': write --monitor=measure; try --help");
}

TEST(RunOptions, NobodyIsGivenMoreThanAnyMachineHasOrNoCoreAtAll) {
    EXPECT_THAT(
        parse_run({"--cores", "0", "a.sh"}).error().message,
        HasSubstr("--cores: tasks need more than 0 cores; for tasks that only wait, write #WQ cores=0"));
    EXPECT_EQ(parse_run({"--cores", "100000", "--gpus", "100000", "a.sh"})->run.defaults.needs.gpus, 100'000);
    for (const char* option : {"--cores", "--gpus"})
        EXPECT_THAT(parse_run({option, "100001", "a.sh"}).error().message,
                    HasSubstr("not a number from 0 to 100000"));
    EXPECT_EQ(parse_run({"--memory", "1024P", "a.sh"})->run.defaults.needs.memory_mb, std::int64_t{1} << 40);
    for (const char* option : {"--memory", "--disk"})
        EXPECT_THAT(parse_run({option, "1025P", "a.sh"}).error().message,
                    HasSubstr("'1025P' is more than 1 EiB"));
}

TEST(RunOptions, WhyTakesALineAndARun) {
    const auto command = parse_run({"--why", "17", "tasks.sh"});
    ASSERT_TRUE(command) << command.error().message;
    EXPECT_EQ(command->kind, Command::Kind::why);
    EXPECT_EQ(command->why_line, 17u);
    EXPECT_EQ(command->run.source.path, "tasks.sh");
    EXPECT_EQ(parse_run({"--why=1", "--run-dir", "r"})->run.run_directory, "r");
    EXPECT_EQ(parse_run({"--why=1", "--each", "files"})->run.source.path, "files");
    for (const std::vector<const char*>& bad : {std::vector{"--why", "0", "t"},
                                                {"--why", "x", "t"},
                                                {"--why", "1"},
                                                {"--why", "1", "a", "b"},
                                                {"--why", "1", "--array", "1-3"}}) {
        const auto refused = parse_run(bad);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ExitCode::usage);
    }
}

TEST(RunOptions, LeaveTheCommandAfterTheDashesAlone) {
    const auto command = parse_run({"--array", "1-3", "--json", "--", "sim", "--cores", "9", "--", "{}"});
    ASSERT_TRUE(command) << command.error().message;
    EXPECT_EQ(command->run.source.command, (std::vector<std::string>{"sim", "--cores", "9", "--", "{}"}));
    EXPECT_EQ(command->run.defaults.needs.cores, -1);
    EXPECT_TRUE(command->run.json);
}

TEST(RunOptions, ResumeFailedResumes) {
    EXPECT_TRUE(parse_run({"--resume-failed", "a"})->run.resume);
    EXPECT_TRUE(parse_run({"--resume-failed", "a"})->run.resume_failed);
    EXPECT_FALSE(parse_run({"--resume", "a"})->run.resume_failed);
}

TEST(RunOptions, OutputTakesADirectoryAndATask) {
    const auto command = parse_run({"--output", "tasks.sh.wq", "17"});
    ASSERT_TRUE(command);
    EXPECT_EQ(command->kind, Command::Kind::output);
    EXPECT_EQ(command->output_directory, "tasks.sh.wq");
    EXPECT_EQ(command->output_task, 16u);
}

TEST(RunOptions, MayHaveTheNamesOfEarlierVersionsAndOfTheWorker) {
    const auto command =
        parse_run({"--wall-time", "1h", "--listen", "--away-limit=2m", "--storage-patience", "5m", "tasks"});
    ASSERT_TRUE(command) << command.error().message;
    EXPECT_EQ(command->run.walltime, std::chrono::hours(1));
    EXPECT_EQ(command->run.disconnect_limit, std::chrono::minutes(2));
    EXPECT_EQ(command->run.storage_retry_limit, std::chrono::minutes(5));
}

TEST(RunOptions, EveryErrorNamesItsOptionAndTheWayOn) {
    const std::pair<std::vector<const char*>, const char*> wrong[] = {
        {{}, "give a task list"},
        {{"a", "b"}, "one task list at a time"},
        {{"--array", "1-3", "echo", "{}"}, "put -- before the command: --array 1-3 -- echo {}"},
        {{"--walltime", "60", "a"}, "--walltime: tasks are dispatched until 1m00s before the end"},
        {{"--array", "1-3", "--each", "a", "--", "echo", "{}"}, "give only one of a task list, --each"},
        {{"--cores", "x", "a"}, "--cores: "},
        {{"--memory", "4Q", "a"}, "--memory: "},
        {{"--grace", "-1", "a"}, "--grace: "},
        {{"--listen", "--reconnect-timeout", "9", "a"}, "--reconnect-timeout: give at least 10 s, or 0"},
        {{"--tickets", "x", "a"}, "'x' is not one of auto, message, rma"},
        {{"--array", "1-3"}, "command after --"},
        {{"a", "--", "b"}, "needs --each or --array"},
        {{"--max", "3", "a"}, "unknown option --max; did you mean --max-losses?"},
        {{"--unknown", "3", "a"}, "unknown option --unknown; try"},
        {{"--retry", "3", "a"}, "unknown option --retry; did you mean --retries?"},
        {{"--resum", "a"}, "unknown option --resum; did you mean --resume?"},
        {{"--outptu=3", "a"}, "unknown option --outptu; did you mean --output?"},
        {{"--index-variable", "a-b", "a"}, "--index-variable: 'a-b' is not a variable name"},
        {{"--output", "x", "0"}, "--output: TASK: "}};
    for (const auto& [words, expected] : wrong) {
        const auto command = parse_run(words);
        ASSERT_FALSE(command) << expected;
        EXPECT_EQ(command.error().code, ExitCode::usage);
        EXPECT_THAT(command.error().message, HasSubstr(expected));
        EXPECT_THAT(command.error().message,
                    ::testing::MatchesRegex(".*(; try --help|did you mean .*\\?|echo \\{\\})"));
    }
}

}  // namespace
}  // namespace wq::programs::run
