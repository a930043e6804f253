#include "manager/report/kept_output.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/tasklist/list.h"
#include "manager/report/no_output.h"
#include "manager/run/source.h"
#include "manager/task_table.h"
#include "records/journal/journal.h"

namespace wq::manager::report {

namespace {

class HeaderOnly final : public records::journal::JournalVisitor {
  public:
    void task(const records::journal::TaskRecord&) override {}
    void worker(const records::journal::WorkerRecord&) override {}
    void sample(const records::journal::Sample&) override {}
};

std::optional<records::journal::TaskKey> key_in_list(const std::string& run_directory, TaskId task) {
    std::ifstream file(run_directory + "/list", std::ios::binary);
    if (!file || !ran_a_list(run_directory)) return std::nullopt;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    engine::tasklist::ListReader reader("list");
    std::vector<engine::tasklist::Item> items;
    if (!reader.feed(text, items) || !reader.finish(items)) return std::nullopt;
    manager::TaskTable tasks;
    for (const engine::tasklist::Item& item : items)
        if (const auto* line = std::get_if<engine::tasklist::TaskLine>(&item))
            tasks.add_line(line->command, line->line, 0);
    if (task.value() >= tasks.size()) return std::nullopt;
    return tasks.key(task);
}

}  // namespace

// A copy of --each's values looks like a list; only the fingerprint tells them apart.
bool ran_a_list(const std::string& run_directory) {
    HeaderOnly nothing;
    const auto journal = records::journal::scan_journal(run_directory + "/journal", nothing);
    if (!journal) return false;
    const std::string& name = journal->header.list_name;
    run::SourceSpec spec;
    spec.path = name == "stdin" ? "-" : name;
    return spec.fingerprint() == journal->header.source_fingerprint;
}

Result<records::journal::TaskOutput> kept_output(const std::string& run_directory, TaskId task) {
    if (std::filesystem::is_regular_file(run_directory))
        return Error{ExitCode::bad_input, run_directory + " is no run directory; that of a list is LIST.wq"};
    const auto key = key_in_list(run_directory, task);
    auto output = records::journal::read_task_output(run_directory, task, key);
    if (!output || output->attempt != 0) return output;
    if (const Status nothing = check_wrote_nothing(run_directory, task, key); !nothing)
        return nothing.error();
    return output;
}

}  // namespace wq::manager::report
