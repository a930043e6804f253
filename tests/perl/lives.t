#!/usr/bin/perl
# How long queues and tasks live, forks, signals, and the ends of programs.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use POSIX ();
use Scalar::Util qw(weaken);
use Test::More;
use Time::HiRes qw(ITIMER_REAL setitimer time);
use lib dirname(File::Spec->rel2abs(__FILE__));
use WorkQueueTest;
use Work_Queue;

my $endless = 'exec tail -f /dev/null';

# What a program says on stdout and stderr, and its exit code.
sub program {
    my ($text) = @_;
    write_file('program.pl', "use strict; use warnings; use Work_Queue; \$| = 1;\n$text");
    my $said = qx($^X program.pl 2>&1);
    return [$said =~ s/^work_queue: port .* has no password: .*\n//mgr, $? >> 8];
}

{
    package Counted;
    our @ISA = ('Work_Queue::Task');
    our $living = 0;
    sub new { my ($class, @arguments) = @_; ++$living; return $class->SUPER::new(@arguments) }
    sub DESTROY { my ($self) = @_; --$living; $self->SUPER::DESTROY; return }
}

# ---- objects ----

{
    my $q = Work_Queue->new(0);
    $q->submit(Counted->new('echo kept'));
    is($Counted::living, 1, 'a submitted task that the program drops lives in the queue');
    my $worker = start_worker($q);
    my $task = $q->wait(60);
    is(ref $task, 'Counted', 'wait returns the object, with its class');
    is($task->output, "kept\n", 'it ran');
    undef $task;
    is($Counted::living, 0, 'and ends when the program drops it then');

    my $outlives = Counted->new($endless);
    $q->submit($outlives);
    $q->submit(Counted->new($endless)) for 1 .. 3;
    is($q->wait(0.2), undef, 'tasks run');
    weaken(my $same = $q);
    undef $q;
    is($same, undef, 'a queue ends with its last reference, although tasks run');
    is($Counted::living, 1, 'with all tasks that nobody else has');
    is($outlives->command, $endless, 'a task outlives its queue');
    $outlives->specify_command('echo second queue');
    end_worker($worker);

    my $next = Work_Queue->new(0);
    is($next->submit($outlives), 1, 'and may be submitted to another');
    start_worker($next);
    is($next->wait(60)->output, "second queue\n", 'which runs it');
    my $copy = $outlives->clone;
    is(ref $copy, 'Counted', 'a clone has the same class');
    ++$Counted::living;
    $next->submit($copy);
    is($next->cancel_by_taskid(2), $copy, 'a cancelled task is the object');
    my @both = $next->cancel_all_tasks;
    is_deeply([\@both, ref Work_Queue::Task->new], [[], 'Work_Queue::Task'], 'nothing is left');
}
is($Counted::living, 0, 'all have ended');

# ---- forks ----

my $q = Work_Queue->new(0);
$q->specify_contact_file('contact');
my $before = child(sub { $q->port or die });    # before the queue serves workers
waitpid $before, 0;
is($?, 0, 'a child ends before the queue begins');
$q->submit(command('echo after the fork'));
is($q->hungry, 9, 'the queue serves workers');
ok(-s 'contact', 'its contact file');
my $child = child(sub {
    open STDERR, '>', 'child.txt';
    eval { $q->wait(1) };
    print STDERR $@;
    undef $q;
});
waitpid $child, 0;
is($?, 0, 'a child ends after that, too');
like(read_file('child.txt'), qr/^Work_Queue->wait: this queue belongs to the parent process at /, 'and cannot use the queue');
waitpid child(sub { exit 7 }), 0;
is($? >> 8, 7, 'with its exit code');
ok(-s 'contact', "the parent's queue goes on");
my $worker = fork // die "fork: $!\n";
if ($worker == 0) {
    open STDOUT, '>>', 'worker.log';
    open STDERR, '>&', \*STDOUT;
    exec $ENV{WORKER}, qw(--cores 1 -s . --single-shot --contact contact) or POSIX::_exit(127);
}
is($q->wait(60)->output, "after the fork\n", 'and runs its task');

# ---- signals ----

{
    my $state = Work_Queue::Fields::state_of($q);
    my $late = command('true');
    $late->specify_tag('late');
    $q->submit($late);
    push @{$state->{arrived}}, Work_Queue::C::wait_for_task($state->{c}, 'late', 60_000);    # then a handler died
    ok(!$q->empty, 'a task that came with the signal is not lost');
    is($q->wait_for_tag('another', 0.1), undef, 'others do not get it');
    is($q->wait_for_tag('late', 60), $late, 'the next call does');
}
$q->submit(command($endless));
# The timer goes on, since its first signal may come before wait() begins.
sub interrupted {
    my ($timeout, $handler) = @_;
    local $SIG{ALRM} = $handler;
    my $started = time;
    setitimer(ITIMER_REAL, 0.1, 0.1);
    my $task = eval { $q->wait($timeout) };
    my $died = $@;
    setitimer(ITIMER_REAL, 0);
    return ($task, time - $started, $died);
}
my $handled = 0;
for my $timeout (-1, 60) {
    my ($task, $seconds) = interrupted($timeout, sub { ++$handled });
    is($task, undef, "a signal ends wait($timeout)");
    cmp_ok($seconds, '<', 30, 'at once');
}
cmp_ok($handled, '>=', 2, 'and its handler runs');
my (undef, undef, $died) = interrupted(-1, sub { die "stop\n" });
is($died, "stop\n", 'a handler may die');
eval {
    local $SIG{ALRM} = sub { die "alarm\n" };
    alarm 1;
    $q->wait;
};
is($@, "alarm\n", 'also that of alarm()');
my @cpu = times;
$q->wait(1);
my @now = times;
cmp_ok($now[0] + $now[1] - $cpu[0] - $cpu[1], '<', 0.2, 'a wait costs hardly any processor time');
is(scalar(my @cancelled = $q->cancel_all_tasks), 1, 'the task is still there');
undef $q;
waitpid $worker, 0;
ok(!-e 'contact', 'the contact file is gone');

# ---- ends of programs ----

my $serving = 'my $q = Work_Queue->new(0); $q->specify_contact_file("contact"); our $t = Work_Queue::Task->new("true");
    $q->submit($t); $q->submit(Work_Queue::Task->new("true")); $q->hungry; print -s "contact" ? "served\n" : "none\n";';
is_deeply(program($serving), ["served\n", 0], 'a program ends with tasks in its queue');
ok(!-e 'contact', 'and its contact file is gone');
is_deeply(program("$serving exit 3;"), ["served\n", 3], 'by exit');
is_deeply(program("$serving \$! = 9; die qq(no\\n);"), ["served\nno\n", 9], 'by die');
is_deeply(program("$serving our \$again = \$q; \$t->{queue} = \$q; END { print \$t->id }"), ["served\n1", 0], 'with a circle');
is_deeply(program("$serving our \$kept = Work_Queue->new(0); \$kept->stats; exit 4"), ["served\n", 4],
    'with two queues');
is_deeply(program('our $t = Work_Queue::Task->new("x"); Work_Queue->new(0); print "none\n"'), ["none\n", 0], 'without any');
is_deeply(program('use POSIX; my $q = Work_Queue->new(0); fork and POSIX::_exit(0); POSIX::setsid(); $q->submit(
    Work_Queue::Task->new("true")); print $q->hungry, "\n";'), ["9\n", 0], 'a daemon begins its queue after the fork');
unlike(program('use POSIX; my $q = Work_Queue->new(0); $SIG{INT} = "DEFAULT"; $q->submit(Work_Queue::Task->new("true"));
    if (fork == 0) { kill INT => getppid; POSIX::_exit(0) } $q->wait; print "not interrupted\n"')->[0], qr/not interrupted/,
    'Ctrl-C without a handler ends the program');
is_deeply(program("use POSIX; $serving \$SIG{TERM} = sub { exit 6 }; if (fork == 0) { kill TERM => getppid; POSIX::_exit(0) } \$q->wait"),
    ["served\n", 6], 'a handler may end the program');
ok(!-e 'contact', 'and its queue');
SKIP: {
    skip 'this perl has no threads', 1 unless eval { require Config; $Config::Config{useithreads} };
    is_deeply(program("use threads; $serving threads->create(sub { print qq(thread\\n) })->join; print \$t->id;"),
        ["served\nthread\n1", 0], 'a thread of Perl has no queue, and ends none');
}
done_testing();
