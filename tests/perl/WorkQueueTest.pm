package WorkQueueTest;

# What the tests of the Perl module share: a folder of their own, workers, files, and what goes to stderr or dies.

use strict;
use warnings;
use Exporter qw(import);
use File::Temp ();
use POSIX ();
use Test::More;
use Work_Queue;

our @EXPORT = qw(start_worker end_worker child results_of finish_all write_file read_file said death command);

# The program is in its folder from now on.
our $folder = File::Temp->newdir('wq-perl-XXXXXX', TMPDIR => 1);
chdir $folder or die "$folder: $!\n";
my %workers;
my $process = $$;

END {
    if ($$ == $process) {
        local $?;
        end_worker($_) for keys %workers;
        chdir '/';
    }
}

# child CODE: a process that runs CODE, and ends like a program unless CODE replaces it.
sub child {
    my ($code) = @_;
    my $child = fork // die "fork: $!\n";
    return $child if $child;
    $code->();
    exit 0;
}

# The worker of a queue, with 2 cores, and these options.
sub start_worker {
    my ($queue, @options) = @_;
    my $port = $queue->port;
    my $worker = fork // die "fork: $!\n";
    if ($worker == 0) {
        open STDOUT, '>>', 'worker.log' or POSIX::_exit(126);
        open STDERR, '>&', \*STDOUT or POSIX::_exit(126);
        exec $ENV{WORKER}, '--cores', 2, '-s', '.', '-t', 60, '-b', 2, @options, 'localhost', $port or POSIX::_exit(127);
    }
    return $workers{$worker} = $worker;
}

sub end_worker {
    my ($worker) = @_;
    delete $workers{$worker} or return;
    kill TERM => $worker;
    waitpid $worker, 0;
    return;
}

# All tasks that the queue has, by id, when they have ended; at most 60 s.
sub finish_all {
    my ($queue) = @_;
    my ($end, %ended) = (time + 60);
    while (!$queue->empty && time < $end) {
        my $task = $queue->wait(5) or next;
        $ended{$task->id} = $task;
    }
    ok($queue->empty, 'all tasks have ended') or diag(read_file('worker.log'));
    return \%ended;
}

# Submits the tasks and waits for all.
sub results_of {
    my ($queue, @tasks) = @_;
    for my $task (@tasks) { $queue->submit($task) or die 'not submitted: ' . $task->command . "\n" }
    finish_all($queue);
    return @tasks;
}

# A task with 1 core that runs this.
sub command {
    my ($line) = @_;
    my $task = Work_Queue::Task->new($line);
    $task->specify_cores(1);
    return $task;
}

sub write_file {
    my ($name, $text) = @_;
    open my $file, '>:raw', $name or die "$name: $!\n";
    print {$file} $text;
    close $file or die "$name: $!\n";
    return;
}

# undef: there is none.
sub read_file {
    my ($name) = @_;
    open my $file, '<:raw', $name or return undef;
    local $/;
    return scalar(<$file>) // '';
}

# What CODE makes the library say on stderr.
sub said {
    my ($code) = @_;
    open my $stderr, '>&', \*STDERR or die "dup: $!\n";
    open STDERR, '>', 'stderr.txt' or die "stderr.txt: $!\n";
    $code->();
    open STDERR, '>&', $stderr or die "dup: $!\n";
    return read_file('stderr.txt');
}

# Why CODE dies; undef: it does not.
sub death {
    my ($code) = @_;
    return eval { $code->(); 1 } ? undef : $@;
}

1;
