#!/usr/bin/perl
# Wrong use dies with one line that names the method, the program's line and the remedy; what the C functions refuse comes
# back as they return it.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use Test::More;
use lib dirname(File::Spec->rel2abs(__FILE__));
use WorkQueueTest;
use Work_Queue;

my $q = Work_Queue->new('0');    # as from a command line
my $t = Work_Queue::Task->new('true');

# dies CODE, TEXT: with this line, which names this file and a line of the statement.
sub dies {
    my ($code, $text) = @_;
    my ($line, $died) = ((caller)[2], death($code) // 'lives');
    my $named = $died =~ s/ at \Q${\ __FILE__}\E line (\d+)\.\n\z// && abs($1 - $line) < 2;
    return is($died . ($named ? '' : ' in another line'), $text, $text);
}
my $new = 'the arguments are port, name, shutdown, stats_log, transactions_log, debug_log, ssl, catalog';
my $file = 'the arguments are local_name, remote_name, flags, cache, failure_only, success_only';

# ---- arguments ----

dies(sub { Work_Queue->new(nmae => 'x', port => 0) }, "Work_Queue->new: there is no argument 'nmae'; $new");
dies(sub { Work_Queue->new('abc') }, "Work_Queue->new: port is 'abc', but must be a port number, or [lowest, highest]; $new");
dies(sub { Work_Queue->new(70_000) }, "Work_Queue->new: port is '70000', but must be a port number, or [lowest, highest]; $new");
like(death(sub { Work_Queue->new(port => 0, ssl => ['key']) }), qr/but must be 1, 0, or \[key file, certificate file\]; /, 'half of TLS');
dies(sub { $t->specify_input_file(local_name => 'x', chace => 1) },
    "Work_Queue::Task->specify_input_file: there is no argument 'chace'; $file");
dies(sub { $t->specify_input_file('x', 'y', flag => 1) }, "Work_Queue::Task->specify_input_file: there is no argument 'flag'; $file");
dies(sub { $t->specify_input_file(remote_name => 'x', cache => 1) },
    "Work_Queue::Task->specify_input_file: local_name is missing; $file");
dies(sub { $t->specify_input_file }, "Work_Queue::Task->specify_input_file: local_name is missing; $file");
dies(sub { $t->specify_input_file('x', 'y', 'CACHE') },
    "Work_Queue::Task->specify_input_file: flags is 'CACHE', but must be a whole number; $file");
dies(sub { $t->specify_input_file(1 .. 7) }, "Work_Queue::Task->specify_input_file: too many arguments; $file");
dies(sub { $t->specify_cores('two') },
    "Work_Queue::Task->specify_cores: cores is 'two', but must be a whole number; the argument is cores");
dies(sub { $t->specify_cores(1.5) },
    "Work_Queue::Task->specify_cores: cores is '1.5', but must be a whole number; the argument is cores");
dies(sub { $t->specify_priority(9**9**9) },
    "Work_Queue::Task->specify_priority: priority is 'Inf', but must be a number; the argument is priority");
dies(sub { $t->specify_tag("a\0b") },
    "Work_Queue::Task->specify_tag: tag is 'a\0b', but must be a text without NUL bytes; the argument is tag");
dies(sub { $t->specify_category('') },
    "Work_Queue::Task->specify_category: name is '', but must be a text that is not empty; the argument is name");
like(death(sub { $t->specify_buffer("\x{263A}", 'x') }), qr/but must be bytes: use Encode::encode; /, 'wide characters are no bytes');
dies(sub { $q->empty(1) }, 'Work_Queue->empty: too many arguments; there are no arguments');
dies(sub { $t->specify_directory }, 'Work_Queue::Task->specify_directory: local_name or remote_name is missing');
dies(sub { $q->submit('true') },
    "Work_Queue->submit: task is 'true', but must be a Work_Queue::Task; the argument is task");
dies(sub { $q->specify_category_max_resources('a', {core => 1}) },
    "Work_Queue->specify_category_max_resources: there is no resource 'core'; give cores, memory (MB), disk (MB) or gpus");
dies(sub { $q->specify_max_resources({cores => 'all'}) },
    "Work_Queue->specify_max_resources: cores is 'all', but must be a number");
dies(sub { $q->specify_max_resources(cores => 1) },
    'Work_Queue->specify_max_resources: too many arguments; the argument is resources');
dies(sub { Work_Queue::specify_port_range(5) }, 'Work_Queue->specify_port_range: give the lowest and the highest port');

# Names of files and variables may be those of arguments.
write_file($_, "$_\n") for qw(cache flags);
ok($t->specify_input_file('cache', 'flags'), 'files called as arguments are');
ok($t->specify_input_file('flags', 'cache'), 'both ways');
$t->specify_environment_variable(name => 'value');
$t->specify_command('cat flags cache; echo $name');

{
    package Path;
    use overload '""' => sub { $_[0][0] };
}
my $numbers = Work_Queue::Task->new('echo');
$numbers->specify_tag(5);
$numbers->specify_cores('2');
$numbers->specify_priority('2.5');
$q->specify_max_resources({cores => '2', memory => '100'});
$numbers->specify_environment_variable(N => 7);
ok($numbers->specify_buffer(12.5, 1), 'numbers are texts');
ok($numbers->specify_input_file(bless(['cache'], 'Path'), 8, undef, 1), 'so are objects that are texts');
is_deeply([$numbers->tag, $numbers->resources_requested->cores, $numbers->priority], [5, 2, 2.5], 'and texts are numbers');

# A tag may be called as an argument is.
for my $tag (qw(tag timeout words)) {
    my $tagged = Work_Queue::Task->new('true');
    $tagged->specify_tag($tag);
    my $other = Work_Queue->new(0);
    $other->submit($tagged);
    is($other->wait_for_tag($tag, 0.01), undef, "wait_for_tag('$tag', seconds)");
    is($other->cancel_by_tasktag($tag), $tagged, "the tag '$tag'");
}
is($q->wait_for_tag(tag => 'words', timeout => 0.01), undef, 'by name');
is($q->wait_for_tag(tag => 'words'), undef, 'with one name');
dies(sub { $q->wait_for_tag('words', 'soon') },
    "Work_Queue->wait_for_tag: timeout is 'soon', but must be a number; the arguments are tag, timeout");

# ---- fields ----

dies(sub { $t->{ouput} }, "a task has no field 'ouput'; did you mean 'output'?");
dies(sub { $t->{nonsense} }, "a task has no field 'nonsense'");
dies(sub { $t->{tag} = 'x' }, "a task: 'tag' can only be read; the methods specify_... change what can be changed");
dies(sub { delete $t->{tag} }, "a task: 'tag' cannot be deleted");
dies(sub { %$t = () }, 'a task: the fields cannot be deleted');
dies(sub { $q->stats->{tasks_runing} }, "a queue's statistics has no field 'tasks_runing'; did you mean 'tasks_running'?");
$t->{mine} = 1;
ok(exists $t->{mine} && delete $t->{mine} && !exists $t->{mine}, "a program's own field");
dies(sub { Work_Queue::Task::specify_tag(bless({}, 'Work_Queue::Task'), 'x') },
    'Work_Queue::Task: this object was not made by new()');

# ---- the wrong moment ----

start_worker($q);
my $id = $q->submit($t);
dies(sub { $q->submit($t) }, "Work_Queue->submit: task $id is already in a queue: submit a clone()");
dies(sub { $t->specify_cores(1) },
    "Work_Queue::Task->specify_cores: task $id is in a queue: wait for it or cancel it first, or change a clone()");
is($q->wait(60)->output, "cache\nflags\nvalue\n", 'the task is as specified');
like(death(sub { $q->specify_contact_file('x') }), qr/^Work_Queue->specify_contact_file: too late: /, 'too late');
$q->specify_name('late');
is($q->name, 'late', 'a name may come late');
is($q->specify_transactions_log('late.log'), 1, 'and so may a log');
ok(-s 'late.log', 'it is written');
my $ended = Work_Queue->new(0);
Work_Queue::_finish(Work_Queue::Fields::state_of($ended));
dies(sub { $ended->submit($t) }, 'Work_Queue->submit: the queue has ended');
dies(sub { $ended->wait }, 'Work_Queue->wait: the queue has ended');
dies(sub { $ended->tune('x', 1) }, 'Work_Queue->tune: the queue has ended');
is($ended->port, undef, 'it has no port');

# ---- what the C functions refuse ----

my %refused = (
    'an absolute remote name' => sub { $t->specify_input_file('x', '/etc/passwd') },
    'a remote name with ..' => sub { Work_Queue::Task->new('x')->specify_output_file('x', '../x') },
    'two files of one name' => sub {
        my $task = Work_Queue::Task->new('x');
        $task->specify_input_file('a', 'x');
        return $task->specify_input_file('b', 'x');
    },
    'a URL as an output' => sub { Work_Queue::Task->new('x')->specify_url('http://x', 'x', type => WORK_QUEUE_OUTPUT) },
    'the task with such a file' => sub { $q->submit($t) },
);
for my $what (sort keys %refused) {
    like(said(sub { is($refused{$what}->(), 0, "$what is refused") }), qr/^work_queue_\w+: [^\n]+\n\z/, 'in one line');
}
is($q->cancel_by_taskid(999), undef, 'no such task');
is_deeply([$q->cancel_by_taskid(999), $q->wait(0.01), $q->wait_for_tag('tag', 0.01)], [undef, undef, undef], 'undef in lists, too');
dies(sub { $q->status('task') }, "Work_Queue->status: there is no status of 'task'; give queue, tasks, workers or categories");
my $closed = Work_Queue->new(0);
$closed->specify_contact_file('/no/such/folder/contact');
like(said(sub { is_deeply([$closed->status, $closed->application_info], [undef, undef], 'a queue that cannot start has no status') }),
    qr{/no/such/folder/contact}, 'and says why');
is($q->cancel_by_tasktag('none'), undef, 'no such tag');
is($q->task_state(999), WORK_QUEUE_TASK_UNKNOWN, 'an unknown task');
done_testing();
