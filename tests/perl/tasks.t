#!/usr/bin/perl
# All methods of a task, each with its effect on a task that a worker runs.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use IO::Socket::INET;
use POSIX ();
use Test::More;
use Time::HiRes ();
use lib dirname(File::Spec->rel2abs(__FILE__));
use WorkQueueTest;
use Work_Queue;

my $q = Work_Queue->new(0);

# ---- before it runs ----

my $t = Work_Queue::Task->new;
is($t->command, undef, 'a task without a command');
like(said(sub { is($q->submit($t), 0, 'it is not submitted') }), qr/^work_queue_submit: /, 'for a reason');
$t->specify_command('true');
is("$t->{command} $t->{command_line} " . $t->command_line, 'true true true', 'command');
is(Work_Queue::Task->new(command => 'ls')->command, 'ls', 'command by name');
is($t->category, 'default', 'default category');
$t->specify_category('analysis');
$t->specify_tag('a tag');
$t->specify_priority(2.5);
$t->specify_max_retries(5);
$t->specify_algorithm(WORK_QUEUE_SCHEDULE_FCFS);
$t->specify_coprocess('functions');
is_deeply([@$t{qw(category tag priority max_retries algorithm coprocess)}],
    ['analysis', 'a tag', 2.5, 5, WORK_QUEUE_SCHEDULE_FCFS, 'functions'], 'fields of settings');
$t->specify_coprocess(undef);
is($t->coprocess, undef, 'no coprocess');
$t->specify_running_time_min(3);
is($t->{min_running_time}, 3, 'running_time_min');
is($t->clone->specify_snapshot_file('snapshot.json'), 1, 'specify_snapshot_file');
$t->specify_preferred_host('nowhere');
$t->specify_cores(2);
$t->specify_memory(4096);
$t->specify_disk(100);
$t->specify_gpus(0);
is_deeply([@{$t->resources_requested}{qw(cores memory disk)}], [2, 4096, 100], 'resources_requested');
is($t->resources_requested->memory, 4096, 'a resource by method');
is_deeply([@$t{qw(id return_status output host limits_exceeded)}], [0, -1, undef, undef, undef], 'not run yet');
is($t->{resources_measured}{cores}, -1, 'not measured yet');
$t->{note} = ['mine'];
my $copy = $t->clone;
is("$copy->{tag} $copy->{note}[0] " . $copy->resources_requested->{cores}, 'a tag mine 2', 'clone');
isnt($copy, $t, 'a clone is another task');
$t->specify_tag(undef);
is("@{[$t->tag // 'none']} $copy->{tag}", 'none a tag', 'a clone has its own settings');

# ---- files there and back ----

write_file('letter', "dear worker\n");
mkdir 'folder';
write_file('folder/inside', 'in a folder');
mkdir 'deep';
write_file('deep/letter', "dear depth\n");
my $all = command(q());
$all->specify_command('cat letter named piece; cat bytes; cat deep/letter; cat folder/inside made; ls -d empty; cp letter back; cp letter same; exit 3');
ok($all->specify_input_file('letter'), 'an input has its own name');
ok($all->specify_input_file('deep/letter'), 'in its folder');
ok($all->specify_input_file(local_name => 'letter', remote_name => 'named', cache => 1), 'or another');
ok($all->specify_file_piece('letter', 'piece', 0, 3, WORK_QUEUE_INPUT, WORK_QUEUE_NOCACHE), 'a piece of a file');
ok($all->specify_buffer("b\0y\xFF\n", 'bytes'), 'bytes');
ok($all->specify_directory('folder', recursive => 1), 'a folder');
ok($all->specify_directory(remote_name => 'empty'), 'an empty folder');
ok($all->specify_file_command('echo by command', 'made', cache => 1), 'made by a command');
ok($all->specify_output_file('answer', 'back'), 'an output');
ok($all->specify_file(local_name => 'same', type => WORK_QUEUE_OUTPUT), 'an output by its type');
my $worker = start_worker($q, '--feature', 'special');
results_of($q, $all);
is($all->output, "dear worker\ndear worker\ndearb\0y\xFF\ndear depth\nin a folderby command\nempty\n", 'output, with NULs');
is_deeply([map { read_file($_) } qw(answer same)], ["dear worker\n", "dear worker\n"], 'outputs');
is_deeply([@$all{qw(return_status exit_status result result_str)}], [3, 3, WORK_QUEUE_RESULT_SUCCESS, 'SUCCESS'], 'results');
cmp_ok($all->bytes_received, '>=', length $all->output, 'bytes_received');

# Which outputs come back, by named options and by flags.
my $fails = command('echo x | tee a b c d e; exit 1');
my $succeeds = command('echo x | tee a b c d e');
my $done = 0;
for my $task ($fails, $succeeds) {
    my $kind = $done++ ? 'good' : 'bad';
    $task->specify_output_file("$kind-a", 'a', failure_only => 1);
    $task->specify_output_file("$kind-b", 'b', success_only => 1);
    $task->specify_output_file("$kind-c", 'c', WORK_QUEUE_FAILURE_ONLY);
    $task->specify_output_file(local_name => "$kind-d", remote_name => 'd', flags => $WORK_QUEUE_SUCCESS_ONLY);
    $task->specify_output_file("$kind-e", 'e', flags => WORK_QUEUE_FAILURE_ONLY, failure_only => 0);
}
results_of($q, $fails, $succeeds);
is(join(' ', sort glob '{good,bad}-?'), 'bad-a bad-c bad-e good-b good-d good-e', 'outputs of failures and of successes');

# A URL.
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die "no port: $!\n";
my $serves = child(sub {
    while (my $client = $server->accept) {
        while (defined(my $line = <$client>)) { last if $line =~ /^\r?$/ }
        print {$client} "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ndata";
        close $client;
    }
});
my $fetches = command('cat data');
ok($fetches->specify_url('http://127.0.0.1:' . $server->sockport . '/data.txt', 'data', cache => 1), 'a URL');
results_of($q, $fetches);
is($fetches->output, 'data', 'its content');
kill KILL => $serves;
waitpid $serves, 0;

# ---- how it runs ----

my $environment = command('echo "$GREETING $CORES ${HOME-no home}"');
$environment->specify_environment_variable(GREETING => 'hello');
$environment->specify_environment_variable('HOME');
my $special = command('true');
$special->specify_feature('special');
my $reports = command('true');
$reports->specify_monitor_output('reports');
results_of($q, $environment, $special, $reports);
is($environment->{output}, "hello 1 no home\n", 'environment');
is($special->result, WORK_QUEUE_RESULT_SUCCESS, 'feature');
is_deeply([glob 'reports/*'], ["reports/wq-$$-task-@{[$reports->id]}.summary"], 'monitor_output');

my $late = command('true');
$late->specify_end_time(1_000_000);
my $long = command('exec tail -f /dev/null');
$long->specify_running_time_max(1);
my $long_in_us = command('exec tail -f /dev/null');
$long_in_us->specify_running_time(400_000);
my $waits = command('true');
my $start = int((Time::HiRes::time() + 0.4) * 1e6);
$waits->specify_start_time_min($start);
results_of($q, $late, $long, $long_in_us, $waits);
is($late->result, WORK_QUEUE_RESULT_TASK_TIMEOUT, 'end_time');
is_deeply([$long->result, $long->return_status, $long_in_us->result_str],
    [WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME, 9, 'MAX_WALL_TIME'], 'running_time_max, running_time');
cmp_ok($waits->execute_cmd_start, '>=', $start, 'start_time_min');

my $no_input = command('true');
$no_input->specify_input_file('not-there');
my $no_output = command('true');
$no_output->specify_output_file('never');
results_of($q, $no_input, $no_output);
is_deeply([@$no_input{qw(result result_str return_status)}], [1, 'INPUT_MISS', -1], 'a missing input');
like($no_input->reason, qr/not-there/, 'is named');
is($no_output->result_str, 'OUTPUT_MISS', 'a missing output');

# Those with higher priority first.
end_worker($worker);
my @order = map { Work_Queue::Task->new("echo $_") } 1 .. 3;
$order[1]->specify_priority(1);
$order[2]->specify_priority(7);
$q->submit($_) for @order;
start_worker($q);
is(join('', map { $q->wait(60)->output } @order), "3\n2\n1\n", 'priority');

# ---- all fields ----

my ($last) = results_of($q, $copy);
my @differ = grep { !ref $last->{$_} && ($last->{$_} // '') ne ($last->$_ // '') } grep { $last->can($_) } keys %$last;
is_deeply(\@differ, [], 'fields are the same by hash and by method');
my @fields = qw(tag category command priority algorithm std_output output id return_status result result_str
    exhausted_attempts host hostname submit_time commit_time finish_time total_cmd_exhausted_execute_time app_delay send_input_start
    send_input_finish execute_cmd_start execute_cmd_finish receive_output_start receive_output_finish total_bytes_received
    total_bytes_sent total_bytes_transferred total_transfer_time cmd_execution_time total_cmd_execution_time
    resources_measured limits_exceeded resources_requested resources_allocated exit_status reason);
is_deeply([grep { !exists $last->{$_} || !$last->can($_) } @fields], [], 'all fields of the Python module');
ok($last->submit_time <= $last->send_input_start && $last->send_input_start <= $last->finish_time, 'times of the manager');
ok($last->execute_cmd_start <= $last->execute_cmd_finish, 'times of the worker');
is($last->hostname, POSIX::uname() && (POSIX::uname())[1], 'hostname');
like($last->host, qr/:\d+$/, 'host');
is($last->resources_allocated->{cores}, 2, 'resources_allocated');
cmp_ok($last->resources_measured->{wall_time}, '>=', 0, 'resources_measured');
is($last->{note}[0], 'mine', "a program's own data");
done_testing();
