#include "slices_program/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "core/outcome.h"
#include "process/path_lookup.h"

namespace wq::slices_program {

namespace {

std::string replaced(std::string word, const std::string& name) {
    constexpr std::string_view place = "{}";
    for (std::size_t at = word.find(place); at != std::string::npos; at = word.find(place, at + name.size()))
        word.replace(at, place.size(), name);
    return word;
}

std::string text_of(int error_number) {
    return std::generic_category().message(error_number);
}

std::vector<char*> pointers_of(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::string end_of(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return "its end is not known: " + text_of(errno);
    if (WIFSIGNALED(status)) return "killed by " + core::signal_name(WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Runner::Runner(std::vector<std::string> command, int rank)
    : command_(std::move(command)), rank_(std::to_string(rank)), environment_(::environ, {}) {}

std::string Runner::run(const Slice& slice, RecordsFeed& records) {
    std::vector<std::string> words;
    for (const std::string& word : command_) words.push_back(replaced(word, slice.text()));
    std::vector<std::string> variables = environment_.entries();
    const auto set = [&](const char* name, const std::string& value) { variables.push_back(name + value); };
    set("SLICE_WORK=", slice.work);
    set("SLICE_START=", slice.start ? std::to_string(*slice.start) : "");
    set("SLICE_END=", slice.end ? std::to_string(*slice.end) : "");
    set("SLICE_EPOCH=", std::to_string(slice.epoch));
    set("SLICE_RANK=", rank_);
    const auto found = process::PathLookup::search(environment_.value("PATH"), words.front());
    if (found.file.empty())
        return "cannot run " + words.front() + ": " + text_of(found.denied ? EACCES : ENOENT);

    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "cannot make a pipe: " + text_of(errno);
    Descriptor read_end(ends[0]);
    Descriptor write_end(ends[1]);
    const std::vector<char*> argv = pointers_of(words);
    const std::vector<char*> envp = pointers_of(variables);
    process::SpawnPlan plan;
    plan.file = found.file.c_str();
    plan.argv = argv.data();
    plan.envp = envp.data();
    plan.in = read_end.get();
    plan.only_standard = true;
    plan.own_group = false;
    plan.group = group_end_.group();
    const process::Spawned child = process::spawn(plan, stack_);
    if (child.pid <= 0) return "cannot run " + words.front() + ": " + text_of(child.error);
    read_end.reset();
    const Status fed = records.feed(slice, write_end.get());
    write_end.reset();
    const std::string ended = end_of(child.pid);
    return fed ? ended : fed.error().message;
}

}  // namespace wq::slices_program
