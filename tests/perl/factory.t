#!/usr/bin/perl
# A queue whose workers a factory submits, as processes of this machine.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use Test::More;
use lib dirname(File::Spec->rel2abs(__FILE__));
use WorkQueueTest;
use Work_Queue;
use Work_Queue::Factory;

my $q = Work_Queue->new(0);
my %settings = (min_workers => 0, max_workers => 2, cores => 1, timeout => '1m', cycle => 0.1, worker_extra_options => '--grace 0',
    'status-interval' => 0.2, scratch_dir => 'factory', feature => ['big', 'fast'], env => ['COLOR=dark red']);
my $workers = Work_Queue::Factory->new('local', $q, %settings);
is_deeply([$workers->running, $workers->report], [0, undef], 'it does not run');
is($workers->start, 1, 'start');
is_deeply([$workers->start, $workers->running], [1, 1], 'it runs');
my @tasks = map { command('echo $COLOR') } 1 .. 3;
$_->specify_feature('fast') for @tasks;
results_of($q, @tasks);
is_deeply([map { $_->output } @tasks], [("dark red\n") x 3], 'its workers run tasks');
my $long = command('exec tail -f /dev/null');
$q->submit($long);
$q->wait(0.1) until $workers->report && $workers->report->{tasks_on_workers} == 1;
is($workers->report->held, '', 'report');
is($workers->specify(max_workers => 3), 1, 'specify');
like(said(sub { is($workers->specify(scratch_dir => 'x'), 0, 'too late') }),
    qr/^work_queue_factory_specify: scratch-dir: too late/m, 'is said');
waitpid child(sub { undef $workers }), 0;
is_deeply([$?, $workers->running], [0, 1], 'the end of a child does not stop it');
$workers->stop;
is($workers->running, 0, 'stop');
$q->wait(0.1) while $q->stats->{workers_connected};
is($q->task_state($long->id), WORK_QUEUE_TASK_READY, 'its tasks are requeued');
$workers->start;
undef $q;
is($workers->running, 0, 'the queue stops it');
like(said(sub { eval { $workers->start } }) . $@, qr/the queue has ended/, 'and it cannot start again');
undef $workers;

my $other = Work_Queue->new(0);
like(said(sub { is(Work_Queue::Factory->new(manager => $other, max_worker => 2), undef, 'an unknown setting') }),
    qr/there is no setting 'max-worker' \(did you mean 'max-workers'\?\)/, 'is said');
like(death(sub { Work_Queue::Factory->new('slurm') }), qr/^Work_Queue::Factory->new: manager is missing: .* at \Q${\ __FILE__}\E /,
    'a queue is needed');
like(death(sub { Work_Queue::Factory->new(local => $other, 'cores') }), qr/give settings as pairs/, 'an odd setting');
my $port = $other->port;
my $far = Work_Queue::Factory->new('local', manager_host_port => "localhost:$port", max_workers => 1, scratch_dir => 'far', cycle => 0.1);
is($far->start, 1, 'a factory for a manager elsewhere');
$far->stop;
like(said(sub { is(Work_Queue::Factory->new(manager_host_port => 'localhost'), undef, 'no port') }), qr/'localhost' is not HOST:PORT/, 'is said');
like(death(sub { Work_Queue::Factory->new(manager => $other, manager_host_port => "h:$port") }), qr/manager is missing/, 'one manager');
is(Work_Queue::Factory->new(batch_type => 'local', manager => $other)->running, 0, 'by name');
is(Work_Queue::Factory->new($other, max_workers => 2)->running, 0, 'the queue alone');
is(Work_Queue::Factory->new($other)->running, 0, 'and without settings');
is(Work_Queue::Factory->new(manager => $other, max_workers => 2)->running, 0, 'and by its name');
done_testing();
