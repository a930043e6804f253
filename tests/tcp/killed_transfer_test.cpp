// Either side is killed at each step of a transfer (kill_at_step.c; WQ_EVERY: at every n-th), one after the
// other: outputs are complete or as they were before, and another worker, or the next run, completes what is
// missing.
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/descriptor.h"
#include "files_fixture.h"

namespace {

namespace fs = std::filesystem;

class KilledTransfer : public wq::testing::Files {
  protected:
    static constexpr std::size_t two_parts = 300 << 10;
    static constexpr int most_steps = 1000;
    static constexpr int least_steps = 30;  // with fewer, it is not killed where it should be

    // It is killed at one of this many steps.
    static int stride() {
        const char* const every = std::getenv("WQ_EVERY");
        return every == nullptr ? 1 : std::max(1, std::atoi(every));
    }

    // Different each time: no cache has it, and outputs can be told apart.
    void write_inputs(int number) const {
        const std::string text = std::to_string(number) + "\n";
        write("in", text + large_text(two_parts));
        write("shared", "shared " + text + large_text(two_parts));
        write("tree/a/file", "tree " + text);
        write("shared_tree/a/file", "shared_tree " + text);
        if (!fs::exists(here("tree/link"))) fs::create_symlink("a/file", here("tree/link"));
    }
    bool is_whole_file(const std::string& out, int number) const {
        const std::string text = std::to_string(number) + "\n";
        return read(out) == text + large_text(two_parts) + "shared " + text + large_text(two_parts);
    }
    static constexpr auto command =
        "cat in shared > home/out; cp -a tree home/made; cp -r shared_tree home/made/more";

    bool is_whole_tree(const std::string& made, int number) const {
        const std::string text = std::to_string(number) + "\n";
        return read(made + "/a/file") == "tree " + text && read(made + "/link") == "tree " + text &&
               read(made + "/more/a/file") == "shared_tree " + text;
    }
    // The launchers of killed workers remove everything else.
    void expect_only_the_cache_is_left() const {
        for (const std::string& name : names_in(spaces())) {
            const wq::Descriptor lock(::open((spaces() + "/" + name + "/work_queue.lock").c_str(), O_RDWR));
            if (lock.valid()) ::flock(lock.get(), LOCK_EX);
        }
        EXPECT_EQ(names_in(spaces()), std::set<std::string>{"kept"});
        for (const auto& entry : fs::recursive_directory_iterator(spaces() + "/kept"))
            EXPECT_EQ(entry.path().string().find(".part-"), std::string::npos) << entry.path();
    }
    std::string spaces() const { return folder_ + "/spaces"; }
    pid_t start_worker_of(const std::string& contact, std::vector<std::string> environment = {}) {
        return start_worker({"--contact", contact, "-s", spaces(), "--keep-cache", spaces() + "/kept", "-i",
                             "0.01", "-b", "0.05"},
                            std::move(environment));
    }
    static std::set<std::string> names_in(const std::string& folder) {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
        return names;
    }
    // Appends an element to a list in the environment.
    static std::string with(const std::string& name, const std::string& element) {
        const char* const others = std::getenv(name.c_str());
        const std::string before = others == nullptr || *others == '\0' ? "" : std::string(others) + ":";
        return name + "=" + before + element;
    }
    // The sanitizer's library, if it is a shared one, must be found before ours.
    std::vector<std::string> doomed(int step, const std::string& below) const {
        const std::string preload = folder_ + "/preload.so";  // a list: no path in it has a space
        if (!fs::exists(preload)) fs::create_symlink(KILL_AT_STEP, preload);
        return {with("LD_PRELOAD", preload), with("ASAN_OPTIONS", "verify_asan_link_order=0"),
                "KILL_AT_STEP=" + std::to_string(step), "KILL_BELOW=" + below};
    }
    // Whether by SIGKILL.
    bool end_of(pid_t child) {
        int status = 0;
        ::waitpid(child, &status, 0);
        children_.erase(child);
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
};

// The next worker gets the remains of its cache.
TEST_F(KilledTransfer, OfAWorkerIsMadeUpForByTheNext) {
    const std::string contact = folder_ + "/contact";
    bool killed = true;
    int step = 1 - stride();
    while (killed && step < most_steps && !HasFailure()) {
        step += stride();
        write_inputs(step);
        const pid_t first = start_worker_of(contact, doomed(step, spaces()));
        std::optional<pid_t> next;
        std::thread heir([&] {
            killed = end_of(first);
            if (killed) next = start_worker_of(contact);
        });
        const auto task = run(wq::Task(command)
                                  .input_file(here("in"))
                                  .input_file(here("shared"), "", {.cache = true})
                                  .input_file(here("tree"))
                                  .input_file(here("shared_tree"), "", {.cache = true})
                                  .output_file(here("home/out"), "home/out")
                                  .output_file(here("home/made"), "home/made"));
        ::kill(first, SIGTERM);
        heir.join();
        if (next) {
            ::kill(*next, SIGTERM);
            EXPECT_FALSE(end_of(*next));
        }
        EXPECT_TRUE(task.ok()) << step << ": " << task.reason() << task.error_output();
        EXPECT_TRUE(is_whole_file(here("home/out"), step)) << step;
        EXPECT_TRUE(is_whole_tree(here("home/made"), step)) << step;
    }
    EXPECT_FALSE(killed);
    EXPECT_GT(step, least_steps);
    EXPECT_EQ(names_in(here("home")), (std::set<std::string>{"made", "out"}));
    expect_only_the_cache_is_left();
    std::printf("killed at every %d. of %d steps\n", stride(), step - 1);
}

// Old outputs are still there, or new ones are complete. The next run transfers all of them.
TEST_F(KilledTransfer, OfAManagerIsMadeUpForByTheNextRun) {
    write("list",
          "#WQ input=in input=shared input=tree input=shared_tree output=home/out output=home/made\n" +
              std::string(command) + "\n");
    // The step from which the present outputs come.
    int file = 0, tree = 0, step = 1 - stride();
    bool killed = true;
    while (killed && step < most_steps && !HasFailure()) {
        step += stride();
        write_inputs(step);
        const std::string run = folder_ + "/run" + std::to_string(step);
        const pid_t manager =
            start(TEST_MANAGER, {"test_manager", run, here("list"), run + ".contact", "--files", here("")},
                  doomed(step, here("")));
        const pid_t worker = start_worker_of(run + ".contact");
        killed = end_of(manager);
        kill_worker(worker);  // it would wait for another manager
        if (is_whole_file(here("home/out"), step)) file = step;
        if (is_whole_tree(here("home/made"), step)) tree = step;
        EXPECT_TRUE(file == 0 ? !fs::exists(here("home/out")) : is_whole_file(here("home/out"), file));
        EXPECT_TRUE(tree == 0 ? !fs::exists(here("home/made")) : is_whole_tree(here("home/made"), tree));
        fs::remove_all(run);
    }
    EXPECT_FALSE(killed);
    EXPECT_GT(step, least_steps);
    EXPECT_EQ(file, step);
    EXPECT_EQ(tree, step);
    EXPECT_EQ(names_in(here("home")), (std::set<std::string>{"made", "out"}));
    std::printf("killed at every %d. of %d steps\n", stride(), step - 1);
}

}  // namespace
