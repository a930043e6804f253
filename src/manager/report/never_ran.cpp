#include "manager/report/never_ran.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "records/journal/append_file.h"

namespace wq::manager::report {

namespace {

std::string path_in(const std::string& run_directory) {
    return run_directory + "/never_ran";
}

}  // namespace

// Lines "FIRST LAST REASON"; tasks are numbered from 1, as everywhere.
Status write_never_ran(const std::string& run_directory, const manager::Failures& failures) {
    std::string text;
    for (const manager::SkippedExample& example : failures.skipped())
        example.tasks.for_each([&](Interval part) {
            text +=
                std::to_string(part.first + 1) + " " + std::to_string(part.end) + " " + example.reason + "\n";
        });
    if (!text.empty()) return records::journal::write_atomically(path_in(run_directory), text);
    std::error_code none_there;
    std::filesystem::remove(path_in(run_directory), none_there);
    return success();
}

std::optional<std::string> why_never_ran(const std::string& run_directory, TaskId task) {
    std::ifstream file(path_in(run_directory));
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::string reason;
    while (file >> first >> last && file.ignore() && std::getline(file, reason))
        if (first <= task.value() + 1 && task.value() < last) return reason;
    return std::nullopt;
}

}  // namespace wq::manager::report
