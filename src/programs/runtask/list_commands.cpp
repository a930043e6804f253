#include "programs/runtask/list_commands.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/signals.h"
#include "base/units.h"
#include "programs/runtask/terminal.h"
#include "shared_list/replica/list_copy.h"
#include "shared_list/replica/shared_list.h"
#include "shared_list/ssh/ssh_store.h"
#include "shared_list/store/list_place.h"
#include "shared_list/text/document.h"
#include "shared_list/text/list_views.h"
#include "shared_list/text/rehearsal.h"

namespace wq::programs::runtask {

namespace {

using shared_list::store::Sign;
using shared_list::text::Document;

constexpr std::uint64_t most_waiting_lines = 20;
constexpr std::size_t most_typos = 20;

// A list that is looked at or changed once.
struct OpenedList {
    std::unique_ptr<shared_list::store::ListStore> store;
    std::unique_ptr<shared_list::replica::SharedList> list;
};

void print_remark(const std::string& line) {
    Terminal().print_remark(line);
}

Result<OpenedList> open_list(const Options& options) {
    OpenedList opened;
    opened.store = shared_list::ssh::store_at(options.list, print_remark);
    // A name that was mistyped must not make a list.
    if (auto there = opened.store->open_to_read(); !there) return there.error();
    opened.list = std::make_unique<shared_list::replica::SharedList>(*opened.store, print_remark);
    if (auto done = opened.list->open(); !done) return done.error();
    if (opened.list->list().lines() == 0)
        print_remark(opened.store->name() + " is empty: is this the right name?");
    return opened;
}

// A list that is only looked at.
Result<Document> view_list(shared_list::store::ListStore& store) {
    auto list = shared_list::replica::view(store);
    if (list && list->lines() == 0) print_remark(store.name() + " is empty: is this the right name?");
    return list;
}

// Of a worker that has not been lost.
std::optional<Sign> sign_of(shared_list::text::WorkerId worker, const std::vector<Sign>& signs) {
    for (const Sign& sign : signs)
        if (sign.worker == worker && sign.lives()) return sign;
    return std::nullopt;
}

std::string gave(const Sign& sign) {
    return " gave a sign of life " + format_duration(sign.age) + " ago";
}

// Whose worker lives would run twice.
Status refuse_running(const Document& list, std::uint64_t from, shared_list::store::ListStore& store) {
    const auto signs = store.signs();
    if (!signs) return signs.error();
    for (const std::uint64_t number : list.live_lines()) {
        const shared_list::text::MarkedLine& line = list.line(number);
        if (number < from || line.kind != shared_list::text::LineKind::running) continue;
        const shared_list::text::WorkerId worker = line.tries.back().worker;
        if (const auto sign = sign_of(worker, *signs))
            return Error{ExitCode::usage, "line " + std::to_string(number) + " of " + store.name() +
                                              " runs on worker " + std::to_string(worker) + ", which" +
                                              gave(*sign) +
                                              ": end that worker first (Ctrl-C); if it is gone, add --force"};
    }
    return success();
}

// A mistyped id would release nothing, without a word.
Status refuse_unknown(shared_list::text::WorkerId worker, const Document& list,
                      shared_list::store::ListStore& store) {
    const auto signs = store.signs();
    if (!signs) return signs.error();
    if (std::ranges::any_of(*signs, [&](const Sign& sign) { return sign.worker == worker; }))
        return success();
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const shared_list::text::MarkedLine& line = list.line(number);
        const auto joined = line.kind == shared_list::text::LineKind::text
                                ? shared_list::text::worker_of(line.text)
                                : std::nullopt;
        if (joined && joined->worker == worker) return success();
        if (std::ranges::any_of(line.tries, [&](const auto& one) { return one.worker == worker; }))
            return success();
    }
    return Error{ExitCode::bad_input, store.name() + " has no worker " + std::to_string(worker) +
                                          "; --status and the marks in the list name its workers"};
}

void warn_of_typos(const Document& list) {
    const auto typos = shared_list::text::likely_typos(list);
    for (std::size_t at = 0; at < std::min(typos.size(), most_typos); ++at)
        print_remark(line_for_message(typos[at], 400));
    if (typos.size() > most_typos)
        print_remark("... and " + std::to_string(typos.size() - most_typos) +
                     " more lines with likely typos");
}

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
}

}  // namespace

Result<int> reset_list(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    std::uint64_t running = 0;
    std::uint64_t again = 0;
    const Status done = opened->list->replace([&](const Document& list) -> Result<std::string> {
        if (options.reset_from > list.lines())
            return Error{ExitCode::bad_input, opened->store->name() + " has " +
                                                  count_of(list.lines(), "line") + ": --reset " +
                                                  std::to_string(options.reset_from) + " is beyond its end"};
        running = shared_list::text::count(list).running;
        again = shared_list::text::lines_reset(list, options.reset_from);
        if (auto over = options.force ? success() : refuse_running(list, options.reset_from, *opened->store);
            !over)
            return over.error();
        return shared_list::text::reset(list, options.reset_from);
    });
    if (!done) return done.error();
    print_remark(count_of(again, "line") + (again == 1 ? " waits again" : " wait again"));
    if (running != 0)
        print_remark(count_of(running, "line") + (running == 1 ? " was" : " were") +
                     " running: a line runs twice if its worker is not gone");
    return 0;
}

Result<int> lock_list(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    if (auto written = opened->list->forget(); !written) return written.error();
    const auto held = opened->store->hold();
    if (!held) return held.error();
    // Not before: a signal ends who waits for the lock.
    auto signals = Signals::block();
    if (!signals) return signals.error();
    print_remark(opened->store->name() + " is locked: edit and save it now, then press Ctrl-C");
    const std::string name = opened->store->name();
    std::array<pollfd, 2> news{pollfd{signals->descriptor(), POLLIN, 0},
                               pollfd{(*held)->descriptor(), POLLIN, 0}};
    while (!signals->next()) {
        ::poll(news.data(), news.size(), -1);
        if (news[1].revents != 0)
            return Error{ExitCode::unreachable, "the lock was lost: do not save " + name + "; lock " + name +
                                                    " again, then edit its new content"};
    }
    print_remark(name + " is unlocked");
    return 0;
}

Result<int> release_worker(const Options& options) {
    auto opened = open_list(options);
    if (!opened) return opened.error();
    if (auto known = refuse_unknown(options.released, opened->list->list(), *opened->store); !known)
        return known.error();
    const std::string worker = "worker " + std::to_string(options.released);
    const auto signs = opened->store->signs();
    if (!signs) return signs.error();
    if (const auto sign = sign_of(options.released, *signs); sign && !options.force)
        return Error{ExitCode::usage, worker + " of " + opened->store->name() + gave(*sign) +
                                          ": end that worker first (Ctrl-C); if it is gone, add --force"};
    const auto released = opened->list->change("release", [&](const Document& list) {
        return shared_list::text::release(list, options.released, opened->list->stamp());
    });
    if (!released) return released.error();
    if (auto removed = opened->store->remove_sign(options.released); !removed) return removed.error();
    if (opened->list->unsettled())
        if (auto settled = opened->list->settle(); !settled) return settled.error();
    print_remark(worker + ": " + count_of(released->size(), "line") + " can run again");
    return 0;
}

Result<int> print_status(const Options& options) {
    const auto store = shared_list::ssh::store_at(options.list, print_remark);
    const auto list = view_list(*store);
    if (!list) return list.error();
    const auto signs = store->signs();
    if (!signs) return signs.error();
    std::vector<shared_list::text::WorkerSign> told;
    for (const Sign& sign : *signs)
        told.push_back({sign.worker, sign.lives() ? format_duration(sign.age) + " ago"
                                                  : "lost for " + format_duration(sign.age - sign.lease)});
    print(shared_list::text::status_table(*list, store->name(), told, most_waiting_lines));
    return 0;
}

Result<int> check_list(const Options& options) {
    const auto store = shared_list::ssh::store_at(options.list, print_remark);
    const auto viewed = view_list(*store);
    if (!viewed) return viewed.error();
    const Document& list = *viewed;
    const auto graph = shared_list::text::group_graph(list);
    if (options.dot) {
        print(shared_list::text::graph_dot(graph, store->name()));
        return 0;
    }
    const auto rehearsal = shared_list::text::rehearse(list, shared_list::text::workers_named(list));
    print(shared_list::text::rehearsal_text(list, rehearsal));
    if (!graph.empty()) print("\n" + shared_list::text::graph_text(graph));
    warn_of_typos(list);
    return to_int(rehearsal.never.empty() ? ExitCode::ok : ExitCode::tasks_failed);
}

}  // namespace wq::programs::runtask
