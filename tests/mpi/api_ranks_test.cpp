// The ranks of a job as workers of a program's manager. `api_ranks lost`: rank 1 kills itself midway.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "work_queue/call.h"
#include "work_queue/functions.h"
#include "work_queue/manager.h"
#include "work_queue/mpi.h"

namespace {

void check(bool holds, const char* what, int line) {
    if (holds) return;
    std::fprintf(stderr, "line %d: %s\n", line, what);
    std::abort();
}
#define CHECK(what) check(static_cast<bool>(what), #what, __LINE__)

// For functions that run within a rank.
struct Here {
    int rank = -1;
    int calls = 0;  // of count_or_die
};

wq::Functions functions(std::shared_ptr<Here> here) {
    wq::Functions all;
    all.add("join", [](const std::string& word, const std::vector<int>& numbers, double factor) {
        std::map<std::string, double> sums;
        for (const int number : numbers) sums[word] += number * factor;
        return sums;
    });
    all.add("nothing", [](std::int64_t) {});
    all.add("some_fail", [](std::int64_t index) {
        if (index % 100'000 == 7) throw std::runtime_error("no " + std::to_string(index));
    });
    all.add("refuse", [](const std::string& why) { throw std::runtime_error(why); });
    all.add("crash", [] { ::raise(SIGSEGV); });
    all.add("rank", [here](std::int64_t) { return here->rank; });
    all.add("count_or_die", [here](std::int64_t) {
        if (here->rank == 1 && ++here->calls == 1000) ::kill(::getpid(), SIGKILL);
    });
    return all;
}

// Everything that ends until nothing is left.
std::vector<wq::Task> drain(wq::Manager& manager) {
    std::vector<wq::Task> ended;
    while (!manager.empty())
        if (auto task = manager.wait()) ended.push_back(std::move(*task));
    return ended;
}

// Runs each index exactly once: done, or reported as a failed call. Returns the failed ones.
std::vector<wq::Task> run_range(wq::Manager& manager, const std::string& function, std::int64_t first,
                                std::int64_t last, wq::CallMode mode) {
    CHECK(manager.submit_range(function, first, last, mode) > 0);
    std::vector<bool> seen(static_cast<std::size_t>(last - first));
    std::vector<wq::Task> failed;
    std::uint64_t count = 0;
    const auto mark = [&](std::int64_t index) {
        CHECK(index >= first && index < last);
        CHECK(!seen[static_cast<std::size_t>(index - first)]);
        seen[static_cast<std::size_t>(index - first)] = true;
        ++count;
    };
    bool complete = false;
    for (wq::Task& task : drain(manager)) {
        if (task.kind() == wq::TaskKind::command) {
            CHECK(task.ok());
            continue;
        }
        if (task.kind() == wq::TaskKind::call) {
            mark(task.index());
            failed.push_back(std::move(task));
            continue;
        }
        std::uint64_t of_report = 0;
        for (const auto& [from, to] : task.progress().done) {
            of_report += static_cast<std::uint64_t>(to - from);
            for (std::int64_t index = from; index < to; ++index) mark(index);
        }
        CHECK(of_report == task.progress().done_now);
        CHECK(!complete);
        complete = task.progress().complete;
    }
    CHECK(complete);
    CHECK(count == seen.size());
    return failed;
}

// Until each rank has run some: the assignment is not deterministic.
void commands(wq::Manager& manager, int ranks) {
    std::set<std::string> seen;
    while (static_cast<int>(seen.size()) < ranks) {
        for (int index = 0; index < 20; ++index)
            manager.submit(
                wq::Task("echo $WORKERID; echo err >&2; exit " + std::to_string(index % 3)).tag("t"));
        std::map<int, int> codes;
        for (const wq::Task& task : drain(manager)) {
            CHECK(task.result() == wq::TaskResult::success);
            CHECK(task.error_output() == "err\n");
            CHECK(task.tag() == "t");
            ++codes[task.exit_status()];
            seen.insert(task.output());
        }
        CHECK((codes == std::map<int, int>{{0, 7}, {1, 7}, {2, 6}}));
    }
}

// So many that ranks claim them by ticket: their settings travel with their text.
void environment_and_output(wq::Manager& manager) {
    for (int index = 0; index < 200; ++index)
        manager.submit(wq::Task("echo ${WORKERID-none} $MINE; head -c 5000 /dev/zero >&2")
                           .environment_variable("WORKERID", {})
                           .environment_variable("MINE", std::to_string(index))
                           .tag(std::to_string(index)));
    for (const wq::Task& task : drain(manager)) {
        CHECK(task.output() == "none " + task.tag() + "\n");
        CHECK(task.error_output().find("the limit is 4096 bytes") != std::string::npos);
    }
}

// In each task's sandbox, also on the manager's own rank; 2 MiB need several parts.
void files(wq::Manager& manager) {
    const std::string large(2 << 20, 'x');
    std::vector<std::string> results;
    for (int index = 0; index < 100; ++index) {
        results.push_back("api_ranks_result." + std::to_string(::getpid()) + "." + std::to_string(index));
        manager.submit(wq::Task("cat shared own | cksum > sum; cat sum")
                           .input_buffer(large, "shared", {.cache = true})
                           .input_buffer(std::to_string(index), "own")
                           .output_file(results.back(), "sum"));
    }
    std::set<std::string> sums;
    for (const wq::Task& task : drain(manager)) {
        CHECK(task.ok());
        sums.insert(task.output());
    }
    CHECK(sums.size() == 100);
    for (const std::string& result : results) {
        std::ifstream file(result);
        std::string line;
        std::getline(file, line);
        CHECK(sums.erase(line + "\n") == 1);
        std::filesystem::remove(result);
    }
    CHECK(manager.stats().bytes_sent < 3 << 20);  // all ranks are on one node: the large one was sent once
}

// The build folder may have a space in its name.
std::string url_of(std::string path) {
    for (std::size_t at = 0; (at = path.find(' ', at)) != std::string::npos;) path.replace(at, 1, "%20");
    return "file://" + path;
}

// Each kind of input and output, and missing ones.
void kinds_of_files(wq::Manager& manager) {
    namespace fs = std::filesystem;
    const fs::path here = fs::absolute("api_ranks_files." + std::to_string(::getpid()));
    fs::create_directories(here / "tree/below");
    std::ofstream(here / "tree/below/file") << "in a folder\n";
    std::ofstream(here / "letters") << "abcdefgh";
    const auto in = [&](const std::string& name) { return (here / name).string(); };
    manager.submit(
        wq::Task("cat tree/below/file piece url made line; ls -d empty; cp -r tree back; echo log > log")
            .tag("good")
            .input_file(in("tree"))
            .input_piece(in("letters"), "piece", 2, 4)
            .input_url(url_of(in("letters")), "url")
            .input_command("tr a-z A-Z < url > %%", "made")
            .input_command("echo line", "line", {.cache = true})
            .input_folder("empty")
            .output_file(in("back"))
            .output_file(in("log"), "", {.watch = true})
            .output_file(in("never"), "never", {.failure_only = true}));
    manager.submit(wq::Task("true").tag("missing").input_file(in("none")));
    manager.submit(wq::Task("true").tag("not made").input_command("echo why >&2; exit 3", "made"));
    manager.submit(wq::Task("true").tag("no url").input_url(url_of(in("none")), "url"));
    manager.submit(wq::Task("echo > made").tag("no output").output_file(in("made")).output_file(in("none")));
    for (const wq::Task& task : drain(manager)) {
        if (task.tag() == "good") {
            CHECK(task.ok());
            CHECK(task.output() == "in a folder\ncdeabcdefghABCDEFGHline\nempty\n");
        } else if (task.tag() == "no output") {
            CHECK(task.result() == wq::TaskResult::output_missing);
        } else {
            CHECK(task.result() == wq::TaskResult::input_missing);
            CHECK(task.return_status() == (task.tag() == "missing" ? -1 : 1));
        }
    }
    CHECK(fs::file_size(here / "back/below/file") == 12);
    CHECK(fs::exists(here / "log") && fs::exists(here / "made") && !fs::exists(here / "never"));
    fs::remove_all(here);
}

void calls(wq::Manager& manager, int ranks) {
    for (const auto mode : {wq::CallMode::direct, wq::CallMode::thread, wq::CallMode::fork}) {
        for (int index = 0; index < 30; ++index)
            manager.submit(
                wq::Task::call("join", "w" + std::to_string(index), std::vector<int>{1, index}, 0.5)
                    .call_mode(mode)
                    .tag(std::to_string(index)));
        std::set<std::string> tags;
        for (const wq::Task& task : drain(manager)) {
            CHECK(task.ok());
            const int index = std::stoi(task.tag());
            CHECK((task.result_as<std::map<std::string, double>>() ==
                   std::map<std::string, double>{{"w" + task.tag(), (1 + index) * 0.5}}));
            tags.insert(task.tag());
        }
        CHECK(tags.size() == 30);
    }
    std::set<int> seen;
    while (static_cast<int>(seen.size()) < ranks) {
        for (int index = 0; index < 20; ++index)
            manager.submit(wq::Task::call("rank", std::int64_t{index}).call_mode(wq::CallMode::direct));
        for (const wq::Task& task : drain(manager)) seen.insert(task.result_as<int>());
    }
}

void failures(wq::Manager& manager) {
    // Waits some seconds for a function that no worker has: once for all modes.
    for (const auto mode : {wq::CallMode::direct, wq::CallMode::thread, wq::CallMode::fork}) {
        manager.submit(wq::Task::call("refuse", "because").call_mode(mode));
        manager.submit(wq::Task::call("not there").call_mode(mode));
    }
    const auto refused = drain(manager);
    CHECK(refused.size() == 6);
    for (const wq::Task& task : refused) {
        CHECK(!task.ok());
        const char* reason = task.function() == "refuse" ? "because" : "not there";
        CHECK(task.reason().find(reason) != std::string::npos);
    }
    manager.submit(wq::Task::call("crash"));
    const auto ended = drain(manager);
    CHECK(ended.size() == 1);
    CHECK(ended.front().result() == wq::TaskResult::signal);
    CHECK(ended.front().return_status() == SIGSEGV);
}

void ranges(wq::Manager& manager) {
    CHECK(run_range(manager, "nothing", 0, 1'000'000, wq::CallMode::direct).empty());
    CHECK(run_range(manager, "nothing", -5, 0, wq::CallMode::direct).empty());
    CHECK(run_range(manager, "nothing", 0, 2'000, wq::CallMode::thread).empty());
    CHECK(run_range(manager, "nothing", 0, 300, wq::CallMode::fork).empty());
    const auto failed = run_range(manager, "some_fail", 0, 1'000'000, wq::CallMode::direct);
    CHECK(failed.size() == 10);
    for (const wq::Task& task : failed)
        CHECK(task.reason().find("no " + std::to_string(task.index())) != std::string::npos);
}

// Rank 1 dies at its 1000th call, in whatever range.
void lost(wq::Manager& manager) {
    while (manager.stats().workers_lost == 0) {
        for (int index = 0; index < 20; ++index) manager.submit(wq::Task("true"));
        CHECK(run_range(manager, "count_or_die", 0, 200'000, wq::CallMode::direct).empty());
    }
    commands(manager, 1);
    CHECK(run_range(manager, "nothing", 0, 100'000, wq::CallMode::direct).empty());
}

wq::ManagerOptions over(wq::MpiSession& session) {
    wq::ManagerOptions options;
    options.listen = false;
    options.mpi = &session;
    options.output_limit = 4096;
    return options;
}

// A session serves one manager; a second session finds MPI in use.
void refusals(wq::MpiSession& session) {
    bool refused = false;
    try {
        const wq::Manager second(over(session));
    } catch (const wq::SetupError&) {
        refused = true;
    }
    CHECK(refused);
    if (session.size() == 1) return;
    refused = false;
    try {
        const wq::MpiSession second;
    } catch (const wq::SetupError&) {
        refused = true;
    }
    CHECK(refused);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const auto here = std::make_shared<Here>();
    wq::MpiOptions options;
    options.manager_only = what == "manager_only";
    wq::MpiSession session(functions(here), options);
    here->rank = session.rank();
    if (session.rank() > 0) return session.serve();
    if (what == "no_manager") return 3;
    wq::Manager manager(over(session));
    if (what == "lost") {
        lost(manager);
        return 4;
    }
    const int workers = session.size() - (options.manager_only ? 1 : 0);
    commands(manager, workers);
    environment_and_output(manager);
    files(manager);
    kinds_of_files(manager);
    calls(manager, workers);
    failures(manager);
    ranges(manager);
    refusals(session);
    return 0;
}
