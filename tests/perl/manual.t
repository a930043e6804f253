#!/usr/bin/perl
# The Perl snippets of CCTools' manual, in its order. Those that are no Perl are corrected:
#   q->port                              $q->port
#   cache = True, cache = False          cache => 1, cache => 0 (twice also type =, flags =)
#   type=WORK_QUEUE_INPUT, wq.WORK_...   type => WORK_QUEUE_INPUT, WORK_QUEUE_... ($Work_Queue::WORK_QUEUE_... also works)
#   statements without their semicolon   with one
#   $q=>wait(5), $t.resources_requested  $q->wait(5), $t->resources_requested
#   say("%f ...", ...)                   printf("%f ...\n", ...)
#   WorkQueue::Task, my $t->..., taskid  Work_Queue::Task, $t->..., $taskid
#   q.WORK_QUEUE_ALLOCATION_MODE_...     $q->WORK_QUEUE_ALLOCATION_MODE_...
#   "my-executable.$OS.$ARCH" (output)   'my-executable.$OS.$ARCH' as an input: in "" Perl puts in its own variables
# As they stand run $stats->{task_running} (tasks_running) and "hungry-minumum" (hungry-minimum).
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use Test::More;
use lib dirname(File::Spec->rel2abs(__FILE__));
use WorkQueueTest;

# What CODE prints.
sub prints {
    my ($code) = @_;
    open my $into, '>', \my $text or die "text: $!\n";
    my $before = select $into;
    $code->();
    select $before;
    return $text;
}

# ---- Creating a Queue ----

# Import the Work Queue library
use Work_Queue;
{
    # Create a new queue listening on port 9123
    my $q;
    my $refusal = said(sub { $q = Work_Queue->new(9123) });    # another test may have the port
    ok($q ? $q->port == 9123 : $refusal =~ /9123/, 'a queue on port 9123');
}
# Create a new queue listening on any port
my $q = Work_Queue->new(0);
like(prints(sub { printf("listening on port %d\n",$q->port) }), qr/^listening on port [1-9]\d*$/, 'a queue on any port');

# ---- Creating Standard Tasks, Describing Tasks, Managing Tasks ----

write_file('my-file', 'text ' x 1000);
my $t = Work_Queue::Task->new("./gzip < my-file > my-file.gz");
# $t->specify_input_file(local_name => "name at manager", remote_name => "name when copied at execution site", ...);
ok($t->specify_input_file(local_name => "/usr/bin/gzip", remote_name => "gzip", cache => 1), 'input');
ok($t->specify_input_file(local_name => "my-file", remote_name => "my-file", cache => 0), 'input');
ok($t->specify_output_file(local_name => "my-file.gz", remote_name => "my-file.gz", cache => 0), 'output');
# when the name at manager is the same as the exection site, we can write instead:
ok($t->specify_input_file(local_name => "my-file", cache => 0), 'the same input');
ok($t->specify_output_file(local_name => "my-file.gz", cache => 0), 'the same output');
$t->specify_cores(2);
$t->specify_memory(4096);
$t->specify_tag("config-4.5.0");
my $taskid = $q->submit($t);
is($taskid, 1, 'taskid');
start_worker($q, '--memory', 8192, '--disk', 8192);
my $report = prints(sub {
    while(not $q->empty()) {
        my $t = $q->wait(5);
        if($t) {
            print("Task @{[$t->id]} has returned!\n");
            if($t->{return_status} == 0) {
                print("command exit code:\n@{[$t->{return_status}]}\n");
                print("stdout:\n@{[$t->{output}]}\n");
            } else {
                print("There was a problem executing the task.\n");
            }
        }
    }
});
is($report, "Task 1 has returned!\ncommand exit code:\n0\nstdout:\n\n", 'the loop');
is(qx(gzip -dc my-file.gz), 'text ' x 1000, 'the output file');
is($t->{tag}, 'config-4.5.0', 'the tag');

# ---- Project Names ----
{
    my $q = Work_Queue->new(name => "myproject", port => 0);    # a test has no port 9123 of its own
    is($q->name, 'myproject', 'name');
}

# ---- Task Resources, Monitoring and Enforcement ----

$t = Work_Queue::Task->new('true');
$t->specify_cores(1);                 # task needs one core
$t->specify_memory(1024);             # task needs 1024 MB of memory
$t->specify_disk(4096);               # task needs 4096 MB of disk space
$t->specify_gpus(0);                  # task does not need a gpu
$t->specify_running_time_max(100);    # task is allowed to run in 100 seconds
$t->specify_running_time_min(10);     # task needs at least 10 seconds to run (see work_queue_worker --wall-time option above)
# Measure the resources used by tasks, but do not terminate tasks that go above declared resources:
ok($q->enable_monitoring(watchdog => 0), 'measured');
# Measure the resources used by tasks, and terminate tasks that go above their resources:
ok($q->enable_monitoring(), 'and enforced');
$t->specify_monitor_output("my-resources-output");
$taskid = $q->submit($t);
$report = prints(sub {
    my $t = $q->wait(60);
    if($t) {
        printf("Task used %f cores, %f MB memory, %f MB disk\n",
            $t->resources_measured->{cores},
            $t->resources_measured->{memory},
            $t->resources_measured->{disk});
        printf("Task was allocated %f cores, %f MB memory, %f MB disk\n",
            $t->resources_requested->{cores},
            $t->resources_requested->{memory},
            $t->resources_requested->{disk});
        if($t->limits_exceeded and $t->limits_exceeded->{cores} > -1) {
            print("Task exceeded its cores allocation.\n");
        }
    }
});
my $number = qr/\d+\.\d{6}/;
like($report, qr/^Task used $number cores, $number MB memory, $number MB disk
Task was allocated 1.000000 cores, 1024.000000 MB memory, 4096.000000 MB disk\n\z/, 'resources');
is_deeply([glob 'my-resources-output/*'], ["my-resources-output/wq-$$-task-$taskid.summary"], 'report on resources');

# ---- Grouping Tasks, Automatic Resource Management ----

# memory and disk values in MB.
$q->specify_category_max_resources('my-category-a', {'cores' => 2, 'memory' => 1024, 'disk' => 2048, 'gpus' => 0});
$q->specify_category_max_resources('my-category-b', {'cores' => 1});
$q->specify_category_max_resources('my-category-c', {});
$t = Work_Queue::Task->new('true');
$t->specify_category('my-category-a');
results_of($q, $t);
is($t->resources_allocated->{cores}, 2, 'category');
$q->specify_category_max_resources('my-category-a', {});
ok($q->specify_category_mode('my-category', $q->WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT), 'mode');
$q->specify_category_max_resources('my-category-b', {'cores' => 2});
ok($q->specify_category_mode('my-category', WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT), 'mode again');
ok($q->specify_category_mode('my-category-c', WORK_QUEUE_ALLOCATION_MODE_DET_EXHAUSTIVE_BUCKETING), 'a mode of bucketing');
$q->specify_category_min_resources('my-category-a', {'memory' => 512});

# ---- Password Files, Maximum Retries, Pipelined Submission ----
{
    my $q = Work_Queue->new(0);
    write_file('mypwfile', 'This is my password');
    ok($q->specify_password_file("mypwfile"), 'password');
}
$t->specify_max_retries(5);    # Task will be try at most 6 times (5 retries).
is($t->{max_retries}, 5, 'retries');
my $more = 0;
if($q->hungry()) {
    # submit more tasks...
    $more = 1;
}
ok($more, 'hungry');

# ---- Fetching Input Data, Watching Output Files, Optional Output Files, String Interpolation ----

$t = Work_Queue::Task->new('cat data; ls my-exe; echo x | tee my-file > debug.out');
ok($t->specify_url("http://somewhere.com/data.tar.gz", "data.tar.gz", type => WORK_QUEUE_INPUT,
    flags => $Work_Queue::WORK_QUEUE_CACHE), 'URL');    # tasks.t fetches one
$t = Work_Queue::Task->new('cat data; ls my-exe; echo x | tee my-file > debug.out');
ok($t->specify_file_command("echo data.txt | cat -", "data", type => WORK_QUEUE_INPUT, flags => Work_Queue::WORK_QUEUE_CACHE),
    'command');
ok($t->specify_output_file(local_name => "my-file", flags => WORK_QUEUE_WATCH), 'watched output');
ok($t->specify_output_file(local_name => "debug.out", flags => WORK_QUEUE_FAILURE_ONLY), 'output of failures');
chomp(my $kernel = qx(uname -s));
chomp(my $machine = qx(uname -m));
write_file("my-executable.$kernel.$machine", '');
ok($t->specify_input_file(local_name => 'my-executable.$OS.$ARCH', remote_name => "my-exe"), 'by kind of worker');
results_of($q, $t);
is($t->{output}, "data.txt\nmy-exe\n", 'inputs');
is_deeply([read_file('my-file'), read_file('debug.out')], ["x\n", undef], 'outputs');

# ---- Fast Abort, Task Cancellations, Worker Blacklist, Performance Statistics ----

# Disconnect workers that are executing tasks twice as slow as compared to the average.
is($q->activate_fast_abort(2), 0, 'fast abort');
# create task as usual and tag it with an arbitrary string.
$t = Work_Queue::Task->new('exec tail -f /dev/null');
my $cancelled = $t;
$t->specify_tag("my-tag");
$taskid = $q->submit($t);
# cancel task by id. Return the canceled task.
$t = $q->cancel_by_taskid($taskid);
is($t, $cancelled, 'cancelled by id');
$q->submit($t);
# or cancel task by tag. Return the canceled task.
$t = $q->cancel_by_tasktag("my-tag");
is($t, $cancelled, 'cancelled by tag');
results_of($q, $t = command('true'));
# if $t fails given a worker misconfiguration:
$q->blacklist($t->hostname);
$q->submit($t);
is($q->wait(0.3), undef, 'blacklist');
$q->blacklist_clear();
my $stats = $q->stats;
like(prints(sub { print($stats->{task_running}) }), qr/^\d+$/, 'statistics');

# ---- Logging facilities, Specialized Settings ----
{
    my $q = Work_Queue->new(port => 0, debug_log => "my.debug.log");
    undef $q;
    $q = Work_Queue->new(port => 0, stats_log => "my.stats.log");
    undef $q;
    $q = Work_Queue->new(port => 0, transactions_log => "my.tr.log");
    $q->submit(Work_Queue::Task->new('true'));
    is($q->tune("hungry-minumum", 20), 0, 'tune');
    is($q->hungry, 19, 'its effect');
}
is_deeply([grep { !defined read_file($_) } qw(my.debug.log my.stats.log my.tr.log)], [], 'logs');
like(read_file('my.tr.log'), qr/ TASK 1 WAITING default FIRST_RESOURCES /, 'lines of the transactions log');
done_testing();
