// What tests of executors share: memory that workers see, and counts of what a program has.
#pragma once

#include <dirent.h>
#include <gmock/gmock.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "node/process/process_tree.h"
#include "support/some_of.h"
#include "work_queue/job_executor.h"

namespace wq::executor_tests {

inline constexpr std::chrono::seconds patience{100};  // for what comes at once

// A T that processes forked later share with this one.
template <class T>
class Shared {
  public:
    Shared()
        : value_(new (mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                     T) {}
    ~Shared() { munmap(value_, sizeof(T)); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    T* operator->() const { return value_; }
    T* get() const { return value_; }
    T& operator*() const { return *value_; }

  private:
    T* value_;
};

// Counts what processes do, and lets them wait.
class Gate {
  public:
    Gate() { sem_init(&semaphore_, 1, 0); }
    void pass() {
        while (sem_wait(&semaphore_) != 0) {
        }
    }
    void open(int times = 1) {
        for (int time = 0; time < times; ++time) sem_post(&semaphore_);
    }

  private:
    sem_t semaphore_;
};

// For lambdas and loops, which an ASSERT would not end.
inline void require(bool fine, const std::string& what = "the test cannot go on") {
    if (!fine) throw std::runtime_error(what);
}

inline Batch number(std::int64_t value) {
    Batch batch;
    batch.set("n", value);
    return batch;
}

inline std::size_t entries_of(const char* path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path), closedir);
    std::size_t count = 0;
    while (readdir(folder.get()) != nullptr) ++count;
    return count;
}
inline std::size_t open_descriptors() {
    return entries_of("/proc/self/fd");
}
inline std::size_t threads() {
    return entries_of("/proc/self/task");
}

inline std::vector<pid_t> processes() {
    return node::process::descendants_of(getpid());
}

inline std::string name_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

// Those of this program with this name: wq_job_keeper, wq_job_zygote, wq_job_worker.
inline std::vector<pid_t> processes_named(std::string_view name) {
    std::vector<pid_t> found = processes();
    std::erase_if(found, [name](pid_t one) { return name_of(one) != name; });
    return found;
}

inline std::vector<pid_t> workers() {
    return processes_named("wq_job_worker");
}

// Those that have begun, and wait for jobs or do them.
inline std::vector<pid_t> workers_that_are_up(const JobExecutor<>& executor) {
    std::ostringstream report;
    executor.job_report(report);
    const std::string text = report.str();
    std::vector<pid_t> found;
    constexpr std::string_view before = ": up, pid ";
    for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
        at += before.size();
        found.push_back(std::atoi(text.c_str() + at));
    }
    return found;
}

using test::some_of;

// Nothing of an executor is left at the end of a test.
class NothingLeft : public testing::Test {
  protected:
    void SetUp() override {
        std::thread([] {}).join();  // the first one brings a thread of ThreadSanitizer's
        threads_before_ = threads();
        descriptors_before_ = open_descriptors();
        ASSERT_THAT(processes(), testing::IsEmpty());
    }
    void TearDown() override {
        EXPECT_THAT(processes(), testing::IsEmpty());
        EXPECT_EQ(open_descriptors(), descriptors_before_);
        EXPECT_EQ(threads(), threads_before_);
    }

  private:
    std::size_t threads_before_ = 0;
    std::size_t descriptors_before_ = 0;
};

}  // namespace wq::executor_tests
