#!/usr/bin/perl
# Compresses the files of its command line by tasks, in Perl:
#   ./work_queue_example.pl a b c &
#   work_queue_worker localhost 9123 --single-shot
# If Perl does not find Work_Queue: export PERL5LIB=~/.local/lib/perl5/site_perl
use strict;
use warnings;
use File::Basename qw(basename);
use Work_Queue;

# The name as a shell reads it.
sub quoted {
    my ($name) = @_;
    return $name if $name =~ /^[\w.+-]+$/a;
    $name =~ s/'/'\\''/g;
    return "'$name'";
}

# The task that makes FILE.gz of FILE, here. In its sandbox the file has no folders in front of it.
sub gzip {
    my ($file) = @_;
    my $remote = basename($file);
    my $task = Work_Queue::Task->new('/usr/bin/gzip < ' . quoted($remote) . ' > ' . quoted("$remote.gz"));
    $task->specify_input_file(local_name => $file, remote_name => $remote);
    $task->specify_output_file(local_name => "$file.gz", remote_name => "$remote.gz");
    return $task;
}

my $usage = "Usage: work_queue_example.pl FILE...\n\nCompresses the files by tasks; workers: work_queue_worker localhost 9123\n";
if (grep { /^(--help|-h)$/ } @ARGV) {
    print $usage;
    exit 0;
}
if (!@ARGV) {
    print STDERR $usage;
    exit 64;
}
my $queue = Work_Queue->new(WORK_QUEUE_DEFAULT_PORT)
    || Work_Queue->new(WORK_QUEUE_RANDOM_PORT)    # the port is in use: any other will do
    || exit 69;
$| = 1;
printf "listening on port %d...\n", $queue->port;

my $failed = 0;
for my $file (@ARGV) {
    my $task = gzip($file);
    if ($queue->submit($task)) {
        print 'submitted task: ', $task->command, "\n";
    } else {    # which has said why
        ++$failed;
    }
}
print "waiting for tasks to complete...\n";

my $stopped = 0;
$SIG{INT} = $SIG{TERM} = sub { $stopped = 1 };
while (!$stopped && !$queue->empty) {
    my $task = $queue->wait(5) or next;
    if ($task->{result} == WORK_QUEUE_RESULT_SUCCESS && $task->{return_status} == 0) {
        print "task $task->{id} complete: $task->{command}\n";
    } else {
        ++$failed;
        print "task $task->{id} failed: $task->{command}: $task->{result_str}, $task->{reason}\n";
    }
}
exit 75 if $stopped;
print $failed ? "some tasks failed\n" : "all tasks complete\n";
exit($failed ? 1 : 0);
