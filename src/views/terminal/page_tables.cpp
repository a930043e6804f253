#include "views/terminal/page_tables.h"

#include <string>
#include <utility>

#include "base/units.h"
#include "engine/model/resources.h"
#include "engine/model/waiting.h"
#include "views/terminal/row_order.h"
#include "views/terminal/texts.h"

namespace wq::views::terminal {

namespace {

using model::RunAttempt;

Colour colour_of(TaskState state) {
    switch (state) {
        case TaskState::running:
            return Colour::busy;
        case TaskState::retried:
            return Colour::warning;
        case TaskState::failed:
            return Colour::bad;
        case TaskState::succeeded:
            break;
    }
    return Colour::good;
}

Colour colour_of(WorkerState state) {
    if (state == WorkerState::busy) return Colour::busy;
    if (state == WorkerState::idle) return Colour::normal;
    return state == WorkerState::left ? Colour::quiet : Colour::warning;
}

std::string cores_used(const RunAttempt& attempt) {
    if (attempt.wall_us <= 0 || attempt.cpu_us < 0 || attempt.received == 0) return "-";
    return fixed(static_cast<double>(attempt.cpu_us) / static_cast<double>(attempt.wall_us), 2);
}

std::vector<TableCell> task_cells(const Shown& shown, const TaskRow& row) {
    const model::RunView& run = shown.run;
    const RunAttempt& attempt = run.attempts[row.shown];
    const bool runs = row.state == TaskState::running;
    std::string number = std::to_string(row.task);
    if (attempt.calls > 1) number += "+" + std::to_string(attempt.calls - 1);
    return {{std::move(number)},
            {name_of(row.state), colour_of(row.state)},
            {std::to_string(row.attempts)},
            {category_text(run, attempt.category)},
            {host_text(run, attempt.worker)},
            {clock_text(attempt.started != 0 ? attempt.started : attempt.dispatched)},
            {micros_text(run_time_us(attempt, shown.moment.at))},
            {runs ? "-" : ending_text(attempt)},
            {runs ? "-" : cores_used(attempt)},
            {runs ? "-" : mb_text(attempt.memory_peak_mb)}};
}

Table task_table(const Shown& shown) {
    Table table;
    table.columns = {
        {"TASK", 7, true},        {"STATE", 9},       {"TRY", 4, true},  {"CATEGORY", 9, false, true},
        {"HOST", 9, false, true}, {"BEGIN", 8},       {"TIME", 7, true}, {"ENDING", 11, false, true},
        {"CORES", 6, true},       {"MEMORY", 9, true}};
    table.row = [&shown](std::size_t n) { return task_cells(shown, shown.moment.tasks[shown.order[n]]); };
    table.is_sorted = true;
    table.if_empty = shown.moment.tasks.empty() ? "no task has been dispatched yet" : "no task is like that";
    return table;
}

std::vector<TableCell> worker_cells(const Shown& shown, const WorkerRow& row) {
    const model::RunWorker& worker = shown.run.workers[row.worker];
    const bool knows = shown.moment.knows_running || row.state == WorkerState::left;
    return {
        {worker.host.empty() ? "-" : worker.host},
        {worker.address},
        {knows || row.state != WorkerState::idle ? name_of(row.state) : "connected", colour_of(row.state)},
        {(knows ? cores_text(row.cores_busy) : "?") + "/" + cores_text(worker.cores)},
        {knows ? std::to_string(row.running) : "?"},
        {std::to_string(row.succeeded)},
        {std::to_string(row.failed), row.failed > 0 ? Colour::bad : Colour::normal},
        {clock_text(worker.joined)},
        {row.state == WorkerState::left ? clock_text(worker.left) : "-"},
        {row.state == WorkerState::left ? worker.why_left : ""}};
}

Table worker_table(const Shown& shown) {
    Table table;
    table.columns = {{"HOST", 9, false, true},
                     {"ADDRESS", 12, false, true},
                     {"STATE", 12},
                     {"CORES", 7, true},
                     {"RUNNING", 8, true},
                     {"DONE", 7, true},
                     {"FAILED", 7, true},
                     {"JOINED", 8},
                     {"LEFT", 8},
                     {"WHY", 16, false, true}};
    table.row = [&shown](std::size_t n) { return worker_cells(shown, shown.moment.workers[shown.order[n]]); };
    table.is_sorted = true;
    table.if_empty = shown.moment.workers.empty() ? "no worker has joined yet" : "no worker is like that";
    return table;
}

std::vector<TableCell> failure_cells(const Shown& shown, const FailureRow& row) {
    std::string hosts;
    for (const std::string& host : row.hosts) hosts += (hosts.empty() ? "" : " ") + host;
    if (row.host_count > row.hosts.size()) hosts += " +" + std::to_string(row.host_count - row.hosts.size());
    std::string tasks;
    for (const std::uint32_t place : row.latest)
        tasks += (tasks.empty() ? "" : " ") + std::to_string(shown.run.attempts[place].task);
    return {{format_count(row.attempts), Colour::bad},
            {format_count(row.tasks)},
            {row.what},
            {category_text(shown.run, row.category)},
            {clock_text(shown.run.attempts[row.latest.front()].received)},
            {tasks},
            {hosts}};
}

Table failure_table(const Shown& shown) {
    Table table;
    table.columns = {{"ATTEMPTS", 8, true},    {"FOR GOOD", 8, true}, {"ENDING", 19, false, true},
                     {"CATEGORY", 8},          {"LAST", 8},           {"TASKS", 9, false, true},
                     {"HOSTS", 7, false, true}};
    table.row = [&shown](std::size_t n) {
        return failure_cells(shown, shown.moment.failures[shown.order[n]]);
    };
    table.if_empty = shown.moment.failures.empty() ? "nothing has failed" : "no failure is like that";
    return table;
}

std::vector<TableCell> waiting_cells(const Shown& shown, const WaitingRow& row) {
    const std::vector<model::RunAsk>& asks = shown.run.asks;
    std::string ask = "any";
    if (row.ask < asks.size()) {
        ask = engine::model::describe(asks[row.ask].needs);
        if (!asks[row.ask].features.empty()) ask += ", " + asks[row.ask].features;
    }
    const bool endless = row.reason == engine::model::WaitReason::program;
    return {{endless ? "-" : format_count(row.tasks)},
            {clock_text(row.since)},
            {std::move(ask)},
            {engine::model::meaning_of(row.reason)}};
}

Table waiting_table(const Shown& shown) {
    Table table;
    table.columns = {
        {"TASKS", 9, true}, {"SINCE", 8}, {"ASK FOR", 26, false, true}, {"WAIT", 30, false, true}};
    table.row = [&shown](std::size_t n) {
        return waiting_cells(shown, shown.moment.waiting[shown.order[n]]);
    };
    table.if_empty = shown.run.waiting.empty()      ? "this run has no records of what waits"
                     : shown.moment.waiting.empty() ? "nothing waits"
                                                    : "nothing that waits is like that";
    return table;
}

Table account_table(const Shown& shown, Glyphs glyphs) {
    Table table;
    table.columns = {
        {"CORE TIME", 21}, {"SHARE", 6, true}, {"AMOUNT", 10, true}, {"", 14}, {"MEANING", 18, false, true}};
    table.row = [&shown, glyphs](std::size_t n) -> std::vector<TableCell> {
        const auto line = static_cast<model::AccountLine>(shown.order[n]);
        const double share = share_of(shown.account.at(line), shown.account.offered);
        const bool useful = line == model::AccountLine::useful;
        const bool lost = line == model::AccountLine::lost;
        return {{model::title_of(line), useful ? Colour::good
                                        : lost ? Colour::bad
                                               : Colour::normal},
                {fixed(100 * share, 1) + "%"},
                {core_time_text(shown.account.at(line))},
                {bar(share, 14, glyphs), useful ? Colour::good
                                         : lost ? Colour::bad
                                                : Colour::busy},
                {model::meaning_of(line), Colour::quiet}};
    };
    table.if_empty = "no worker has offered a core yet";
    return table;
}

Table plain_table_of(const Shown& shown, Glyphs glyphs) {
    switch (shown.state.page) {
        case Page::workers:
            return worker_table(shown);
        case Page::tasks:
            return task_table(shown);
        case Page::failures:
            return failure_table(shown);
        case Page::waiting:
            return waiting_table(shown);
        case Page::account:
            return account_table(shown, glyphs);
        case Page::overview:
            break;
    }
    return {};
}

}  // namespace

Table table_of(const Shown& shown, Glyphs glyphs) {
    Table table = plain_table_of(shown, glyphs);
    table.rows = shown.order.size();
    return table;
}

}  // namespace wq::views::terminal
