// The command line of work_queue_factory as a struct.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "factory/found_managers.h"
#include "factory/settings.h"

namespace wq::programs::factory {

struct FactoryCommand {
    enum class Kind { run, help, version };
    Kind kind = Kind::run;
    std::string batch_type;   // a system, or the path of a driver
    std::string config_file;  // empty: none
    std::string scratch;      // folder
    wq::factory::ManagerPlace place;
    wq::factory::PoolSettings settings;
    // Of the *_submit_workers command, as they are: its options, the manager, and what the system's command
    // gets.
    std::vector<std::string> submit_options;
    std::vector<std::string> place_words;
    std::vector<std::string> batch_words;
    std::vector<std::string> features;  // of the workers
    Duration cycle = std::chrono::seconds(30);
    Duration status_interval = std::chrono::minutes(1);
    bool parent_death = false;
    bool ends_with_reader = false;  // of its output: for a program that started it
    bool dry_run = false;
    bool json = false;
    std::vector<std::string> remarks;  // about options without effect
};

// Errors (usage) have one line.
Result<FactoryCommand> parse_factory_command_line(int argc, const char* const* argv);

std::string factory_help();

}  // namespace wq::programs::factory
