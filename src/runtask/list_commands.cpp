#include "runtask/list_commands.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/units.h"
#include "list_store/list_place.h"
#include "marked_list/group_graph.h"
#include "marked_list/rehearsal.h"
#include "marked_list/reset.h"
#include "marked_list/status_table.h"
#include "runtask/terminal.h"
#include "shared_list/shared_list.h"
#include "threads/signals.h"

namespace wq::runtask {

namespace {

using list_store::Sign;
using marked_list::Document;

constexpr std::uint64_t most_waiting_lines = 20;

// A list that is looked at or changed once.
struct OpenedList {
    std::unique_ptr<list_store::ListStore> store;
    std::unique_ptr<shared_list::SharedList> list;
};

void say(const std::string& line) {
    Terminal().say(line);
}

// A name that was mistyped must not make a list.
Status check_there(const Options& options) {
    const bool missing = options.list.host.empty() && ::access(options.list.file.c_str(), F_OK) != 0 &&
                         errno == ENOENT && !options.list.file.starts_with('~');
    if (!missing) return success();
    return Error{ExitCode::bad_input, "there is no list " + options.list.file + "; a worker would make it"};
}

Result<OpenedList> open_list(const Options& options) {
    if (auto there = check_there(options); !there) return there.error();
    OpenedList opened;
    opened.store = list_store::store_at(options.list, say);
    opened.list = std::make_unique<shared_list::SharedList>(*opened.store, say);
    if (auto done = opened.list->open(); !done) return done.error();
    if (opened.list->list().lines() == 0) say(opened.store->name() + " is empty: is this its name?");
    return opened;
}

bool lives(const Sign& sign) {
    return sign.lease == Duration{0} || sign.age < sign.lease;
}

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
}

}  // namespace

Result<int> reset_list(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    const std::uint64_t running = marked_list::count(opened->list->list()).running;
    const Status done = opened->list->replace(
        [&](const Document& list) { return marked_list::reset(list, options.reset_from); });
    if (!done) return done.error();
    if (running != 0)
        say(count_of(running, "line") + (running == 1 ? " was" : " were") +
            " running: if the worker lives, it runs twice; end the workers first");
    return 0;
}

Result<int> lock_list(const Options& options) {
    auto signals = Signals::block();
    if (!signals) return signals.error();
    auto opened = open_list(options);
    if (!opened) return opened.error();
    if (auto written = opened->list->forget(); !written) return written.error();
    const auto held = opened->store->hold();
    if (!held) return held.error();
    say(opened->store->name() + " is locked: edit and save it now, then press Ctrl-C");
    pollfd signal{signals->descriptor(), POLLIN, 0};
    while (!signals->next()) ::poll(&signal, 1, -1);
    say(opened->store->name() + " is unlocked");
    return 0;
}

Result<int> release_worker(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    const std::string worker = "worker " + std::to_string(options.released);
    const auto signs = opened->store->signs();
    if (!signs) return signs.error();
    for (const Sign& sign : *signs)
        if (sign.worker == options.released && lives(sign))
            say(worker + " gave a sign of life " + format_duration(sign.age) +
                " ago: if it is not gone, its lines run twice");
    const auto released = opened->list->change("release", [&](const Document& list) {
        return marked_list::release(list, options.released, opened->list->stamp());
    });
    if (!released) return released.error();
    if (auto removed = opened->store->remove_sign(options.released); !removed) return removed.error();
    if (opened->list->unsettled())
        if (auto settled = opened->list->settle(); !settled) return settled.error();
    say(worker + ": " + count_of(released->size(), "line") + " can run again");
    return 0;
}

Result<int> print_status(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    const auto signs = opened->store->signs();
    if (!signs) return signs.error();
    std::vector<marked_list::WorkerSign> told;
    for (const Sign& sign : *signs)
        told.push_back({sign.worker, lives(sign) ? format_duration(sign.age) + " ago"
                                                 : "lost since " + format_duration(sign.age - sign.lease)});
    print(marked_list::status_table(opened->list->list(), opened->store->name(), told, most_waiting_lines));
    return 0;
}

Result<int> check_list(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    const Document& list = opened->list->list();
    const auto graph = marked_list::group_graph(list);
    if (options.dot) {
        print(marked_list::graph_dot(graph, opened->store->name()));
        return 0;
    }
    const auto rehearsal = marked_list::rehearse(list, marked_list::workers_named(list));
    print(marked_list::rehearsal_text(list, rehearsal));
    if (!graph.empty()) print("\n" + marked_list::graph_text(graph));
    return to_int(rehearsal.never.empty() ? ExitCode::ok : ExitCode::tasks_failed);
}

}  // namespace wq::runtask
