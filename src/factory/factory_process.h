// work_queue_factory as a child process, beside the manager that it submits workers for. It ends with us,
// however we end, because it notices that nobody reads its reports any more.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/child.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "base/time.h"
#include "factory/factory.h"

namespace wq::factory {

// Near this program or library, or in the folders of PATH. CCTools has a program of the same name: it is told
// from ours by its --version. Error (unreachable): nowhere.
Result<std::string> find_factory_program();
std::optional<std::string> factory_program_in(const std::vector<std::string>& folders);  // or above them

// What the program says first once it has accepted its options and has its folder.
inline constexpr std::string_view words_of_begin = "workers have the feature ";

class FactoryProcess {
  public:
    // `words`: its options. `shell_words`: more of them, as a shell reads them. Its environment is ours
    // without what makes a process a part of an MPI or batch job. Error: it cannot be started.
    static Result<FactoryProcess> start(const std::string& program, const std::vector<std::string>& words,
                                        const std::string& shell_words);
    FactoryProcess(FactoryProcess&&) noexcept = default;
    FactoryProcess& operator=(FactoryProcess&&) = delete;
    ~FactoryProcess();  // stop(), for at most a second

    int descriptor() const { return reports_.get(); }  // readable when handle_reports() has something to do
    // Reads what it reported; never waits. `say` gets its lines for the user.
    void handle_reports(const std::function<void(const std::string&)>& say);
    const std::optional<CycleReport>& report() const { return report_; }  // the last one
    bool has_begun() const { return has_begun_; }                         // it has not refused its options
    bool running() const { return reports_.valid(); }

    void ask_to_stop() const;  // stop() waits
    // It removes its jobs and ends. Waits for that, at most `limit`; then it ends by itself, later.
    void stop(Duration limit, const std::function<void(const std::string&)>& say);

  private:
    FactoryProcess(Child child, Descriptor reports)
        : child_(std::move(child)), reports_(std::move(reports)) {}
    void take(const std::string& line, const std::function<void(const std::string&)>& say);

    Child child_;
    Descriptor reports_;
    std::string partial_;
    std::optional<CycleReport> report_;
    bool has_begun_ = false;
};

}  // namespace wq::factory
