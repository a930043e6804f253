#!/usr/bin/perl
# A manager in Perl, by the module that SWIG has made of the C headers. Usage: manager.pl WORKER VERSION.
use strict;
use warnings;
use cwork_queue;

my ($worker, $version) = @ARGV;

sub check {
    my ($holds, $what) = @_;
    die "$what\n" unless $holds;
}

check(cwork_queue::cctools_version_string() eq $version, "version");
check(cwork_queue::timestamp_get() > 1_700_000_000_000_000, "timestamp");
my $queue = cwork_queue::work_queue_ssl_create(0, undef, undef);
my $port = cwork_queue::work_queue_port($queue);
check($port > 0, "port");
check(cwork_queue::work_queue_enable_monitoring($queue, undef, 1) == 1, "monitoring");

my $limits = cwork_queue::rmsummary_create(-1);
$limits->{cores} = 1;
check(cwork_queue::rmsummary_set($limits, "memory", 200) == 1, "rmsummary_set");
cwork_queue::work_queue_specify_max_resources($queue, $limits);
cwork_queue::rmsummary_delete($limits);

my $greets = cwork_queue::work_queue_task_create("cat letter; echo done > answer; exit 3");
check(cwork_queue::work_queue_task_specify_buffer($greets, "hello", 5, "letter", $cwork_queue::WORK_QUEUE_NOCACHE), "buffer");
check(cwork_queue::work_queue_task_specify_file($greets, "answer.txt", "answer", $cwork_queue::WORK_QUEUE_OUTPUT,
        $cwork_queue::WORK_QUEUE_NOCACHE), "file");
my $ends = cwork_queue::work_queue_task_create("no-such-command");
my @ids = map { cwork_queue::work_queue_submit($queue, $_) } ($greets, $ends);
check("@ids" eq "1 2", "ids: @ids");

my $runs = fork() // die "fork: $!\n";
if ($runs == 0) {
    open(STDOUT, '>', 'worker.log');
    open(STDERR, '>&', \*STDOUT);
    exec($worker, '--cores', 2, '-s', '.', '-t', 60, '-b', 2, 'localhost', $port) or die "$worker: $!\n";
}
my %tasks;
for (@ids) {
    my $task = cwork_queue::work_queue_wait($queue, 60);
    $tasks{$task->{taskid}} = $task if defined $task;
}
kill 'TERM', $runs;
waitpid $runs, 0;
$? = 0;
check(keys %tasks == 2, "ended within 60 s: " . keys %tasks);
my $first = $tasks{1};
check($first->{output} eq "hello", "output: $first->{output}");
check($first->{result} == $cwork_queue::WORK_QUEUE_RESULT_SUCCESS && $first->{return_status} == 3, "result of the first");
my $allocated = $first->{resources_allocated};
check($allocated->{cores} == 1 && $allocated->{memory} >= 200, "allocated: $allocated->{cores}, $allocated->{memory}");
check($first->{resources_measured}->{memory} >= 0 && $first->{resources_measured}->{wall_time} >= 0, "measured");
open(my $answer, '<', 'answer.txt') or die "answer.txt: $!\n";
check(<$answer> eq "done\n", "answer.txt");
my $second = $tasks{2};
check($second->{return_status} == 127 && cwork_queue::work_queue_result_str($second->{result}) eq "SUCCESS", "result of the second");
cwork_queue::work_queue_task_delete($_) for values %tasks;

my $array = cwork_queue::new_rmsummayArray(2);
cwork_queue::rmsummayArray_setitem($array, $_, cwork_queue::rmsummary_create($_)) for 0 .. 1;
for (0 .. 1) {
    my $summary = cwork_queue::rmsummayArray_getitem($array, $_);
    check($summary->{cores} == $_, "item $_");
    cwork_queue::rmsummary_delete($summary);
}
cwork_queue::delete_rmsummayArray($array);
my $workers = cwork_queue::work_queue_workers_summary($queue);
for (my $number = 0; my $summary = cwork_queue::rmsummayArray_getitem($workers, $number); ++$number) {
    cwork_queue::rmsummary_delete($summary);
}
cwork_queue::delete_rmsummayArray($workers);
cwork_queue::work_queue_delete($queue);
print "a manager in Perl: 2 tasks\n";
