#include "worker/order_builder.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/model/outcome.h"
#include "engine/model/task.h"
#include "engine/tasklist/sources.h"
#include "files/trees/task_files.h"
#include "node/process/fetch_url.h"
#include "node/process/task_environment.h"
#include "worker/worker.h"

namespace wq::worker {

namespace {

// Appends the line to the wrapper as one word, or puts it in place of its `{}`.
std::string wrapped(const std::string& wrapper, const std::string& line) {
    std::string word = "'";
    for (const char c : line) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    word += "'";
    const std::size_t braces = wrapper.find("{}");
    if (braces == std::string::npos) return wrapper + " /bin/sh -c " + word;
    return wrapper.substr(0, braces) + word + wrapper.substr(braces + 2);
}

// Bash's `export -f` exports functions under such names; only a shell finds them.
bool is_exported_function(const std::string& name) {
    return std::getenv(("BASH_FUNC_" + name + "%%").c_str()) != nullptr;
}

}  // namespace

OrderBuilder::OrderBuilder(const WorkerOptions& options)
    : index_variable_(options.index_variable),
      wrapper_(options.wrapper),
      fetch_timeout_(options.fetch_timeout) {
    if (!options.hello.identity.empty()) worker_.emplace();
}

void OrderBuilder::limit_output(std::uint64_t bytes) {
    output_limit_ = std::min(bytes, engine::model::most_output);
}

void OrderBuilder::welcome(const net::messages::Welcome& message) {
    worker_ = message.worker;
    index_variable_ = message.index_variable;
    own_folders_ = message.directory.empty();
}

node::process::Order OrderBuilder::of_lease(const net::messages::Lease& lease,
                                            const std::string& sandbox) const {
    node::process::Order order;
    order.task = lease.task;
    order.attempt = lease.attempt;
    order.give = lease.give;
    order.timeout = lease.timeout;
    order.watch = lease.watch;
    order.environment_position = lease.environment_position;
    order.text = wrapper_.empty() ? lease.text : wrapped(wrapper_, lease.text);
    if (lease.call)
        order.call = node::process::Call{lease.call->function, lease.call->arguments};
    else if (lease.environment_position == 0 && !engine::tasklist::needs_shell(order.text))
        order.argv = engine::tasklist::split_words(order.text);
    if (!order.argv.empty() && is_exported_function(order.argv.front())) order.argv.clear();
    order.output_limit = output_limit_;
    if (worker_ && (!first_environment_ || lease.environment_position < *first_environment_))
        order.variables.emplace_back("WORKERID", std::to_string(worker_->value()));
    order.variables.insert(order.variables.end(), lease.variables.begin(), lease.variables.end());
    order.sets_variables = !lease.variables.empty();
    if (!index_variable_.empty())
        for (const auto& [name, value] : lease.variables)
            if (name == engine::tasklist::index_variable_name)
                order.variables.emplace_back(index_variable_, value);
    order.own_folder = own_folders_ && lease.call && sandbox.empty();
    if (sandbox.empty()) return order;
    order.directory = sandbox;
    order.variables.emplace_back(node::process::sandbox_variable, sandbox);
    return order;
}

std::string OrderBuilder::of_environment(const net::messages::EnvironmentLine& line) {
    if (!worker_ || first_environment_) return line.text;
    first_environment_ = line.position;
    return "export WORKERID=" + std::to_string(worker_->value()) + "\n" + line.text;
}

node::process::Order OrderBuilder::of_input(WorkerFiles::Make input) const {
    const bool fetches = input.kind == net::messages::InputKind::url;
    input.lease.call.reset();
    input.lease.text = fetches ? "" : files::trees::command_into(input.from, input.path);
    node::process::Order order = of_lease(input.lease, input.folder);
    if (fetches) {
        order.argv.clear();
        order.timeout = Duration{0};  // fetch_timeout_ limits it
        order.call = node::process::call_of({input.from, input.path, fetch_timeout_});
    }
    return order;
}

}  // namespace wq::worker
