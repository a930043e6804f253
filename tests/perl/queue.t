#!/usr/bin/perl
# All methods of a queue, each with its effect.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use POSIX ();
use Test::More;
use Time::HiRes qw(time);
use lib dirname(File::Spec->rel2abs(__FILE__));
use WorkQueueTest;
use Work_Queue;

my $host = (POSIX::uname())[1];
my $endless = 'exec tail -f /dev/null';

# ---- new ----

my $q = Work_Queue->new(
    port => 0, name => 'perl-test', stats_log => 'my.stats.log', transactions_log => 'my.tr.log',
    debug_log => 'my.debug.log', shutdown => 1,
);
cmp_ok($q->port, '>', 0, 'port');
is_deeply([$q->{port}, @$q{qw(name using_ssl)}, $q->name], [$q->port, 'perl-test', 0, 'perl-test'], 'fields');
like(said(sub { is(Work_Queue->new($q->port), undef, 'no queue on a port in use') }), qr/^work_queue_\w*create: port \d+/, 'and why');
like(said(sub { is(Work_Queue->new(port => 0, stats_log => '/no/such/log'), undef, 'no queue without its log') }),
    qr/no such/i, 'and why');
{
    my $free = $q->port;
    local $ENV{WORK_QUEUE_PORT} = $free;
    my $other = Work_Queue->new([$free, $free + 500]);
    ok($other->port > $free && $other->port <= $free + 500, 'the first free one of some ports');
    $other->specify_name('late');
    is($other->name, 'late', 'specify_name');
    ok($other->specify_contact_file('contact'), 'specify_contact_file');
    is($other->specify_status('key'), 1, 'specify_status');
    like(said(sub { is($other->specify_status('all'), 0, 'no such word') }), qr/give open, key or off/, 'and why');
    ok($other->specify_log('other.log') && $other->specify_transactions_log('other.tr.log'), 'specify_..._log');
    write_file('mypwfile', "This is my password\n");
    ok($other->specify_password_file('mypwfile'), 'specify_password_file');
    $other->specify_password('another');
    like(said(sub { is($other->specify_password_file('none'), 0, 'no such file') }), qr/none/, 'and why');
    is($other->hungry, 10, 'hungry');
    ok(-s 'contact', 'the contact file');
}
ok(!-e 'contact', 'a queue ends with its object');
{
    Work_Queue::specify_port_range(20_000, 20_900);
    my $other = Work_Queue->new(0);
    ok($other->port >= 20_000 && $other->port <= 20_900, 'specify_port_range');
    delete @ENV{qw(WORK_QUEUE_LOW_PORT WORK_QUEUE_HIGH_PORT)};
}

# ---- settings ----

is($q->specify_min_taskid(100), 100, 'specify_min_taskid');
is($q->tune('hungry-minimum', 20), 0, 'tune');
like(said(sub { is($q->tune('hungry-maximum', 20), -1, 'tune: unknown') }), qr/^work_queue_tune: /, 'is said');
is($q->tune('reconnect-timeout', $_), 0, "tune: reconnect-timeout $_") for 0, 10;
like(said(sub { is($q->tune('reconnect-timeout', 9.9), -1, 'tune: too short') }),
    qr/^work_queue_tune: tune: reconnect-timeout takes 0, or a number of at least 10$/, 'is said');
$q->specify_keepalive_interval(20);
$q->specify_keepalive_timeout(20);
my %no_effect = (specify_algorithm => [WORK_QUEUE_SCHEDULE_RAND], set_bandwidth_limit => ['100M']);
for my $method (sort keys %no_effect) {
    like(said(sub { $q->$method(@{$no_effect{$method}}) }), qr/^work_queue_\w+: no effect: /, "$method has none, and says so");
}
is(said(sub {
    $q->specify_task_order(0);
    $q->specify_manager_mode(1);
    $q->specify_master_mode(1);
    $q->estimate_capacity;
    $q->invalidate_cache_file('x');
    $q->specify_manager_preferred_connection('by_ip');
    $q->specify_master_preferred_connection('by_hostname');
    $q->specify_priority(5);
    $q->specify_num_tasks_left(7);
    $q->specify_catalog_server('localhost', 9097);
    $q->specify_catalog_servers('localhost:9097');
}), '', 'these say nothing');
like(said(sub { $q->specify_catalog_servers('localhost:x') }), qr/^work_queue_specify_catalog_servers: no list /, 'no list');
is($q->hungry, 20, 'the effect of tune; the queue begins, and soon warns that it has no password');
is($q->stats->{priority}, 5, 'priority in the statistics');
is_deeply([@{$q->status('queue')->[0]}{qw(priority tasks_left manager_preferred_connection)}], [5, 7, 'by_hostname'], 'and in the status');

# ---- tasks ----

ok($q->empty, 'empty');
is_deeply([$q->workers_summary, $q->status('workers')], [[], []], 'no worker');
my $started = time;
is($q->wait(0.2), undef, 'wait for nothing');
cmp_ok(time - $started, '>=', 0.19, 'waits');
is($q->wait, undef, 'without limit: at once');
my $first = command('echo first');
$first->specify_tag('one');
my $second = command('echo second');
$second->specify_tag('two');
is($q->submit($first), 100, 'submit');
is($q->submit(task => $second), 101, 'the next id');
ok(!$q->empty, 'not empty');
is($q->task_state(100), WORK_QUEUE_TASK_READY, 'task_state');
is($q->status('tasks')->[1]{command}, 'echo second', 'status');
my $worker = start_worker($q);
is($q->wait_for_tag('two', 60), $second, 'wait_for_tag returns the same object');
is($q->wait_for_tag(tag => 'none', timeout => -1), undef, 'no such tag: at once');
is($q->wait(timeout => 60), $first, 'wait');
is($q->task_state(100), WORK_QUEUE_TASK_DONE, 'it is done');
is($q->submit($first), 102, 'submitted again');
is($q->wait(60)->output, "first\n", 'and run again');

my %long = map { $_ => command($endless) } 1 .. 6;
$long{$_}->specify_tag("long $_") for 1 .. 6;
$long{$_}->specify_category('kind') for 3 .. 5;
my %id = map { $_ => $q->submit($long{$_}) } 1 .. 6;
is($q->cancel_by_taskid($id{1}), $long{1}, 'cancel_by_taskid');
is($q->cancel_by_taskid($id{1}), undef, 'only once');
is($q->task_state($id{1}), WORK_QUEUE_TASK_CANCELED, 'its state');
is($long{1}->result, WORK_QUEUE_RESULT_UNKNOWN, 'its result');
is($q->cancel_by_tasktag('long 2'), $long{2}, 'cancel_by_tasktag');
is($q->cancel_by_tasktag('long 2'), undef, 'no more');
is_deeply([map { $_->tag } $q->cancel_by_category('kind')], ['long 3', 'long 4', 'long 5'], 'cancel_by_category');
is_deeply([$q->cancel_all_tasks], [$long{6}], 'cancel_all_tasks');
ok($q->empty, 'none is left');

# ---- categories and monitoring ----

ok($q->enable_monitoring('summaries'), 'enable_monitoring');
ok($q->enable_monitoring_full(watchdog => 0), 'enable_monitoring_full');
ok($q->enable_monitoring(dirname => 'summaries', watchdog => 1), 'by name');
$q->specify_category_max_resources('small', {cores => 1, memory => 500, disk => 100, gpus => 0});
$q->specify_category_min_resources(category => 'small', resources => {memory => 200});
$q->specify_category_first_allocation_guess('small', {memory => 300});
$q->specify_category_max_concurrent('small', 1);
is($q->specify_category_mode('small', WORK_QUEUE_ALLOCATION_MODE_FIXED), 1, 'specify_category_mode');
is($q->specify_category_autolabel_resource('small', 'cores', 0), 1, 'specify_category_autolabel_resource');
$q->specify_max_resources({cores => 2});
$q->specify_min_resources({});
my $small = Work_Queue::Task->new('true');
$small->specify_category('small');
my $default = Work_Queue::Task->new('true');
results_of($q, $small, $default);
is($small->resources_allocated->{cores}, 1, 'allocation by category');
cmp_ok($small->resources_allocated->{memory}, '>=', 500, 'at least what is specified');
is($default->resources_allocated->cores, 2, 'and by default');
is(scalar(glob "summaries/wq-$$-task-@{[$small->id]}.summary"), "summaries/wq-$$-task-@{[$small->id]}.summary", 'summaries');
my ($kind) = grep { $_->{category} eq 'small' } @{$q->status('categories')};
is($kind->{tasks_done}, 1, 'status of categories');
$q->initialize_categories({cores => 2}, "summaries/wq-$$.summaries");
like(said(sub { $q->initialize_categories(filename => 'none') }), qr/none/, 'initialize_categories: no such file');

# ---- workers ----

is($q->activate_fast_abort(3), 0, 'activate_fast_abort');
is($q->activate_fast_abort_category('small', 0), 1, 'off for a category');
is($q->specify_draining_by_hostname(hostname => $host, drain_mode => 0), 1, 'workers of this host are not drained');
$q->submit(my $task = command('true'));
is($q->wait(60), $task, 'they take tasks');
for my $block (qw(block_host blacklist)) {
    $q->$block($host);
    $q->submit($task);
    is($q->wait(0.3), undef, "no task after $block");
    $block eq 'block_host' ? $q->unblock_host($host) : $q->blacklist_clear;
    is($q->wait(60), $task, 'unblocked');
}
$q->block_host_with_timeout($host, 1);
$q->blacklist_with_timeout(host => $host, timeout => 1);
$q->submit($task);
is($q->wait(60), $task, 'blocked for a second');

# ---- figures ----

my $stats = $q->stats;
is_deeply([@$stats{qw(workers_connected tasks_waiting total_cores port)}], [1, 0, 2, $q->port], 'stats');
is($stats->tasks_cancelled, 6, 'by method');
is($stats->{task_running}, $stats->tasks_running, "the manual's spelling");
is($q->{stats}{workers_joined}, 1, '$q->{stats}');
is($q->stats_hierarchy->{workers_joined}, 1, 'stats_hierarchy');
is($q->stats_category('small')->{tasks_done}, 1, 'stats_category');
cmp_ok(scalar keys %$stats, '>', 80, 'all of them');
is($q->status->[0]{project}, 'perl-test', 'status of the queue');
is($q->application_info->{port}, $q->port, 'application_info');
my ($of_worker) = @{$q->status('workers')};
is_deeply($q->workers_summary, [{workers => 1, cores => 2, memory => $stats->{total_memory}, disk => $stats->{total_disk},
    gpus => $of_worker->{gpus_total}}], 'workers_summary');
is_deeply([@$of_worker{qw(hostname os arch cores_total total_tasks_running)}, $of_worker->{connected} ? 1 : 0],
    [$host, (POSIX::uname())[0, 4], 2, 0, 1], 'status of workers');
cmp_ok($of_worker->{total_tasks_complete}, '>', 5, 'tasks that have ended there');
is($q->status->[0]{categories}[-1]{category}, 'whole queue', 'categories in the status of the queue');
ok(Work_Queue::set_debug_flag('wq', 'tcp') && !Work_Queue->set_debug_flag('nonsense'), 'set_debug_flag');
Work_Queue->specify_debug_log('other.debug.log');
$q->set_debug_log('other.debug.log');
Work_Queue->set_debug_config_file('other.debug.log');
is($q->activate_worker_waiting(0), 0, 'activate_worker_waiting');
is($q->specify_draining_by_hostname($host), 1, 'specify_draining_by_hostname');
is(waitpid($worker, 0), $worker, 'the drained worker ends');
$q->specify_draining_by_hostname($host, 0);
$worker = start_worker($q);
results_of($q, $task);
is($q->shutdown_workers, 1, 'shutdown_workers');
is(waitpid($worker, 0), $worker, 'the worker ends');
undef $q;
like(read_file('my.stats.log'), qr/^# timestamp workers_connected /, 'statistics log');
like(read_file('my.tr.log'), qr/ TASK 1 DONE SUCCESS /, 'transactions log');
like(read_file('my.debug.log'), qr/worker/, 'debug log');

# ---- TLS ----

my $secret = Work_Queue->new(port => 0, ssl => 1, shutdown => 1);
is_deeply([$secret->using_ssl, $secret->{using_ssl}], [1, 1], 'using_ssl');
$secret->specify_password_file('mypwfile');
my $private = start_worker($secret, '--ssl', '--password', 'mypwfile');
is((results_of($secret, command('echo secret')))[0]->output, "secret\n", 'a task over TLS');
undef $secret;
is(waitpid($private, 0), $private, 'shutdown => 1 ends the worker');
is($? >> 8, 0, 'without an error');
system('openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -keyout MY_KEY.pem -out MY_CERT.pem 2>/dev/null');
my $own = Work_Queue->new(port => 0, ssl => ['MY_KEY.pem', 'MY_CERT.pem']);
ok($own && $own->using_ssl, 'with a key and certificate');
done_testing();
