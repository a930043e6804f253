// The fields of every message, listed once for both encoding and decoding. A visitor is called with all
// fields of a value at once.
#pragma once

#include "net/messages/messages.h"

namespace wq::net::messages {

// Values of the core in messages.
template <class V>
void fields(engine::model::Resources& v, V& visit) {
    visit(v.cores, v.memory_mb, v.disk_mb, v.gpus, v.coprocesses);
}
template <class V>
void fields(engine::model::Needs& v, V& visit) {
    visit(v.cores, v.memory_mb, v.disk_mb, v.gpus, v.coprocesses);
}
template <class V>
void fields(engine::model::AllocationRules& v, V& visit) {
    visit(v.rest, v.whole_tasks);
}
template <class V>
void fields(engine::model::Sizes& v, V& visit) {
    visit(v.cores, v.memory_mb, v.disk_mb, v.gpus);
}
template <class V>
void fields(engine::model::Watch& v, V& visit) {
    visit(v.measures, v.limits, v.series);
}
template <class V>
void fields(engine::model::Usage& v, V& visit) {
#define WQ_REST(name, unit, meaning) , v.name
    visit(v.cores WQ_USAGE_BUT_CORES(WQ_REST));
#undef WQ_REST
}
template <class V>
void fields(engine::model::Measured& v, V& visit) {
    visit(v.usage, v.exceeded);
}
template <class V>
void fields(engine::model::Outcome& v, V& visit) {
    visit(v.ending, v.exit_code, v.signal, v.started_us, v.wall_us, v.user_us, v.system_us, v.peak_memory_kb,
          v.bytes_read, v.bytes_written, v.stdout_bytes, v.stderr_bytes, v.reason, v.measured);
}
template <class V>
void fields(engine::model::Output& v, V& visit) {
    visit(v.out, v.err, v.result, v.monitor);
}
template <class V>
void fields(engine::model::UsagePoint& v, V& visit) {
    visit(v.at_us, v.label, v.usage);
}
template <class V>
void fields(engine::model::MonitorReport& v, V& visit) {
    visit(v.machine_cpus, v.machine_load, v.peak_us, v.points);
}
template <class V>
void fields(Call& v, V& visit) {
    visit(v.function, v.arguments, v.mode, v.coprocess);
}

template <class V>
void fields(InputFile& v, V& visit) {
    visit(v.name, v.kind, v.from, v.key, v.content);
}
template <class V>
void fields(OutputFile& v, V& visit) {
    visit(v.name, v.on_failure, v.on_success, v.watched);
}
template <class V>
void fields(LeaseFiles& v, V& visit) {
    visit(v.inputs, v.outputs);
}

template <class V>
void fields(Hello& m, V& visit) {
    visit(m.version, m.rank, m.host, m.offers, m.leaves_in, m.clock, m.takes_tickets, m.remark, m.features,
          m.os, m.arch, m.node, m.job, m.address, m.identity, m.resume, m.answers_sent, m.holding);
}
template <class V>
void fields(Refused& m, V& visit) {
    visit(m.version, m.why);
}
template <class V>
void fields(Welcome& m, V& visit) {
    visit(m.version, m.worker, m.resume, m.grace, m.answers_received, m.directory, m.index_variable,
          m.mark_path, m.mark, m.output_limit, m.memory_path, m.memory_mark);
}
template <class V>
void fields(Ended& m, V& visit) {
    visit(m.task, m.attempt, m.outcome, m.output);
}
template <class V>
void fields(GivenBack& m, V& visit) {
    visit(m.task, m.attempt);
}
template <class V>
void fields(RangeEnded& m, V& visit) {
    visit(m.batch, m.done, m.started_us, m.wall_us);
}
template <class V>
void fields(Draining&, V& visit) {
    visit();
}
template <class V>
void fields(Account& m, V& visit) {
    visit(m.batch, m.holding, m.saw_dry);
}
template <class V>
void fields(WantTickets& m, V& visit) {
    visit(m.batch);
}
template <class V>
void fields(WantTexts& m, V& visit) {
    visit(m.batch, m.first, m.count);
}
template <class V>
void fields(SharesFiles&, V& visit) {
    visit();
}
template <class V>
void fields(SharesMemory&, V& visit) {
    visit();
}
template <class V>
void fields(Goodbye& m, V& visit) {
    visit(m.why, m.idle);
}
template <class V>
void fields(Keeps& m, V& visit) {
    visit(m.tasks);
}
template <class V>
void fields(LastWords& m, V& visit) {
    visit(m.version, m.identity, m.resume, m.all_ended);
}
template <class V>
void fields(EnvironmentReport& m, V& visit) {
    visit(m.position, m.exit_code, m.text);
}
template <class V>
void fields(Acknowledged& m, V& visit) {
    visit(m.answers);
}
template <class V>
void fields(EnvironmentLine& m, V& visit) {
    visit(m.position, m.text);
}
template <class V>
void fields(Lease& m, V& visit) {
    visit(m.task, m.attempt, m.give, m.timeout, m.watch, m.environment_position, m.text, m.variables, m.call,
          m.files);
}
template <class V>
void fields(WantInput& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.upto, m.stream, m.missed);
}
template <class V>
void fields(HaveInput& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.folder);
}
template <class V>
void fields(InputIsAt& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.path);
}
template <class V>
void fields(InputPart& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.stream, m.bytes, m.last);
}
template <class V>
void fields(NoInput& m, V& visit) {
    visit(m.task, m.attempt, m.input, m.why);
}
template <class V>
void fields(OutputPart& m, V& visit) {
    visit(m.task, m.attempt, m.output, m.bytes, m.last);
}
template <class V>
void fields(TakeOutput& m, V& visit) {
    visit(m.task, m.attempt, m.upto);
}
template <class V>
void fields(WatchedPart& m, V& visit) {
    visit(m.task, m.attempt, m.output, m.offset, m.bytes);
}
template <class V>
void fields(WatchedTaken& m, V& visit) {
    visit(m.task, m.attempt);
}
template <class V>
void fields(OutputsSent& m, V& visit) {
    visit(m.task, m.attempt);
}
template <class V>
void fields(OutputsKept& m, V& visit) {
    visit(m.task, m.attempt, m.trouble);
}
template <class V>
void fields(Kill& m, V& visit) {
    visit(m.task, m.attempt, m.count);
}
template <class V>
void fields(KillAll&, V& visit) {
    visit();
}
template <class V>
void fields(Recall& m, V& visit) {
    visit(m.most);
}
template <class V>
void fields(SealedBatch& m, V& visit) {
    visit(m.batch, m.tasks, m.needs, m.rules, m.timeout, m.watch, m.command, m.indexes, m.first_item, m.call,
          m.first_index, m.by_counter, m.nodes);
}
template <class V>
void fields(Tickets& m, V& visit) {
    visit(m.batch, m.first, m.count, m.texts_only, m.texts);
}
template <class V>
void fields(RevokedBatch& m, V& visit) {
    visit(m.batch);
}
template <class V>
void fields(Dismiss& m, V& visit) {
    visit(m.why, m.ranks_lost, m.for_good);
}
template <class V>
void fields(StatusQuery& m, V& visit) {
    visit(m.version, m.what, m.from);
}
template <class V>
void fields(StatusPart& m, V& visit) {
    visit(m.records, m.next);
}
template <class V>
void fields(TasksOfShape& v, V& visit) {
    visit(v.category, v.needs, v.rules, v.features, v.ready, v.on_workers);
}
template <class V>
void fields(WorkerStatus& v, V& visit) {
    visit(v.worker, v.host, v.offers, v.tasks, v.job, v.factory, v.is_rank, v.connected);
}
template <class V>
void fields(StatusReport& m, V& visit) {
    visit(m.version, m.shapes, m.further, m.workers, m.blocked, m.submitted, m.done, m.failed,
          m.capacity_tasks, m.ending, m.running, m.elapsed_us, m.ended_in_1000_s);
}
template <class V>
void fields(Beat&, V& visit) {
    visit();
}

}  // namespace wq::net::messages
