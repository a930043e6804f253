// The part of WorkerFiles that creates inputs from a URL or by a command. Both run like a task, in the task's
// place and with its resources, so they can be killed and do not delay other tasks.
#include "files/trees/tree_format.h"
#include "node/process/fetch_url.h"
#include "worker/worker_files_task.h"

namespace wq::worker {

namespace {

// Work Queue's exit status of a task whose input its worker could not create.
constexpr int not_made = 1;

// The last line of stderr, which usually says most.
std::string last_line(std::string_view text) {
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    return std::string(text.substr(text.rfind('\n') + 1));
}

// Why a command or fetch that ended, with or without success, created no input.
files::trees::Problem why_not_made(const net::messages::InputFile& input,
                                   const node::launcher::TaskEnded& end) {
    if (input.kind == net::messages::InputKind::url) {
        const node::process::FetchEnd fetch = node::process::fetch_end_of(end.output.result);
        const bool full = fetch.kind == node::process::FetchEnd::Kind::disk_full;
        const std::string why = end.outcome.succeeded() ? fetch.why : engine::model::describe(end.outcome);
        return {full ? files::trees::Problem::Kind::full : files::trees::Problem::Kind::missing,
                input.name + ": " + why};
    }
    const std::string said = last_line(end.output.err);
    return {files::trees::Problem::Kind::missing, input.name + ": its command ended with " +
                                                      engine::model::describe(end.outcome) +
                                                      (said.empty() ? "" : ": " + said)};
}

bool was_made(const net::messages::InputFile& input, const node::launcher::TaskEnded& end) {
    if (!end.outcome.succeeded()) return false;
    return input.kind == net::messages::InputKind::command ||
           node::process::fetch_end_of(end.output.result).kind == node::process::FetchEnd::Kind::done;
}

bool ended_by_itself(engine::model::Ending ending) {
    return ending == engine::model::Ending::exited || ending == engine::model::Ending::signalled ||
           ending == engine::model::Ending::raised || ending == engine::model::Ending::not_started;
}

}  // namespace

// A cached input must depend on its line only, so the line runs in its own folder, without the task's
// variables.
void WorkerFiles::make(const TaskPointer& task) {
    task->state = Task::State::making;
    const net::messages::InputFile& input = task->input();
    const bool cached = !input.key.empty();
    Make order{task->lease, input.kind, input.from, making_path(task->sandbox),
               cached ? making_folder(task->sandbox) : task->sandbox};
    if (cached) order.lease.variables.clear();
    events_.push_back(std::move(order));
}

void WorkerFiles::kill(const Key& key) {
    if (const TaskPointer task = find(key.first, key.second)) task->killed = true;
}

void WorkerFiles::made(node::launcher::TaskEnded end) {
    const TaskPointer task = find(end.task, end.attempt);
    const net::messages::InputFile& input = task->input();
    if (task->killed) {
        end.outcome = {};
        end.outcome.ending = engine::model::Ending::killed;
        return fail(task, std::move(end));
    }
    if (was_made(input, end)) {
        task->state = Task::State::staging;
        return take_made(task);
    }
    if (ended_by_itself(end.outcome.ending)) {
        const files::trees::Problem problem = why_not_made(input, end);
        end.outcome.ending = problem.kind == files::trees::Problem::Kind::full
                                 ? engine::model::Ending::disk_full
                                 : engine::model::Ending::input_missing;
        end.outcome.exit_code = not_made;
        end.outcome.reason = problem.what;
        fail_with(task, end);
    } else if (end.outcome.reason.empty()) {
        end.outcome.reason = "while its input '" + input.name + "' was made";
    }
    fail(task, std::move(end));
}

// Also fails the tasks that wait for the same input, because they would fail the same way.
void WorkerFiles::fail_with(const TaskPointer& maker, const node::launcher::TaskEnded& end) {
    const std::string key = maker->input().key;
    if (key.empty()) return;
    for (const TaskPointer& other : std::exchange(waiting_, {})) {
        if (other->dropped) continue;
        if (other->input().key != key) {
            waiting_.push_back(other);
            continue;
        }
        node::launcher::TaskEnded same{other->lease.task, other->lease.attempt, {}, {}};
        same.outcome.ending = end.outcome.ending;
        same.outcome.exit_code = end.outcome.exit_code;
        same.outcome.reason = end.outcome.reason;
        fail(other, std::move(same));
    }
}

void WorkerFiles::take_made(const TaskPointer& task) {
    struct Made {
        Sandbox::Step step;
        bool gone = false;
    };
    in_background(
        task,
        [input = task->next_input](Sandbox& sandbox, Store& store) {
            Made made{sandbox.take_made(store, sandbox.files->inputs[input])};
            made.gone = made.step.trouble && store.gone();
            return made;
        },
        [this, task](const Made& made) {
            const auto& [done, trouble] = made.step;
            if (made.gone) return unable(task, trouble->what, Folder::gone);
            if (trouble) return fail(task, *trouble, not_made);
            if (!done) return take_made(task);
            if (task->input().key.empty()) ++task->next_input;
            brought(task);
            go_on(task);
        });
}

}  // namespace wq::worker
