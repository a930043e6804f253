package Work_Queue::Task;

use strict;
use warnings;
use Carp ();
use File::Basename ();
use Work_Queue::Arguments ();
use Work_Queue::C;
use Work_Queue::Fields ();

# A thread of Perl would delete a second time what the first one has.
sub CLONE_SKIP { return 1 }

my $readers = _readers();
Work_Queue::Fields::define(__PACKAGE__, $readers);

sub _readers {
    my $getters = Work_Queue::Fields::getters('work_queue_task');
    my %other_names = (
        command => 'command_line', id => 'taskid', algorithm => 'worker_selection_algorithm',
        submit_time => 'time_when_submitted', commit_time => 'time_when_commit_start', finish_time => 'time_when_done', app_delay => 'time_app_delay',
        map { $_ => "time_$_" } qw(send_input_start send_input_finish execute_cmd_start execute_cmd_finish
            receive_output_start receive_output_finish),
    );
    my %readers = map { my $get = $getters->{$_}; $_ => sub { scalar $get->($_[0]{c}) } } keys %$getters;
    $readers{$_} = $readers{$other_names{$_}} for keys %other_names;
    $readers{output} = $readers{std_output} = sub { Work_Queue::C::task_output($_[0]{c}) };
    $readers{result_str} = sub { Work_Queue::C::work_queue_result_str(scalar $getters->{result}->($_[0]{c})) };
    for my $name (qw(resources_allocated resources_measured resources_requested limits_exceeded)) {
        $readers{$name} = sub { Work_Queue::Fields::resources(scalar $getters->{$name}->($_[0]{c})) };
    }
    return \%readers;
}

# The state of a task: `c` is the C task, `queued` is its id while a queue has it.
sub _object_of {
    my ($class, $c) = @_;
    return Work_Queue::Fields::object($class, 'a task', $readers, {c => $c, queued => 0});
}

Work_Queue::Arguments::define(__PACKAGE__, 'new', 'command', sub {
    my ($class, $command) = @_;
    return _object_of($class, Work_Queue::C::work_queue_task_create($command));
});

sub clone {
    my ($self) = @_;
    my $copy = _object_of(ref $self, Work_Queue::C::work_queue_task_clone(Work_Queue::Fields::state_of($self)->{c}));
    my $own = tied(%$self)->own;
    $copy->{$_} = $own->{$_} for keys %$own;
    return $copy;
}

# At the end of the program, the process frees the memory, and the order of these calls is unknown.
sub DESTROY {
    my ($self) = @_;
    return if ${^GLOBAL_PHASE} eq 'DESTRUCT';
    my $fields = tied %$self or return;
    local ($., $@, $!, $^E, $?);
    Work_Queue::C::work_queue_task_delete($fields->{state}{c});
    return;
}

# _specify METHOD, PARAMETERS, CODE: a method that changes a task, which must not be in a queue. CODE gets the C task.
sub _specify {
    my ($method, $parameters, $code) = @_;
    Work_Queue::Arguments::define(__PACKAGE__, $method, $parameters, sub {
        my ($self, @values) = @_;
        my $state = Work_Queue::Fields::state_of($self);
        Work_Queue::Arguments::refuse(__PACKAGE__ . "->$method",
            "task $state->{queued} is in a queue: wait for it or cancel it first, or change a clone()") if $state->{queued};
        return $code->($state->{c}, @values);
    });
    return;
}

# ---- what it runs and what it needs ----

my %one_argument = (
    command => 'text!', coprocess => 'text', tag => 'text', category => 'name!', feature => 'name!',
    algorithm => 'int!', max_retries => 'long!', cores => 'int!', memory => 'long!', disk => 'long!', gpus => 'int!',
    priority => 'number!', end_time => 'long!', start_time_min => 'long!', running_time => 'long!',
    running_time_max => 'long!', running_time_min => 'long!', monitor_output => 'text',
);
my %named = (
    algorithm => 'algorithm', category => 'name', feature => 'name', monitor_output => 'directory',
    end_time => 'useconds', start_time_min => 'useconds', running_time => 'useconds',
    running_time_max => 'seconds', running_time_min => 'seconds',
);
for my $what (keys %one_argument) {
    my ($kind, $needed) = $one_argument{$what} =~ /^(\w+)(!?)$/;
    my $call = Work_Queue::C->can("work_queue_task_specify_$what");
    _specify("specify_$what", ($named{$what} || $what) . "$needed:$kind", sub { $call->(@_); return });
}

_specify('specify_environment_variable', '=name!:name value', sub {
    Work_Queue::C::work_queue_task_specify_environment_variable(@_);
    return;
});
_specify('specify_preferred_host', 'hostname!:name', sub { return });
_specify('specify_snapshot_file', 'filename!', sub { Work_Queue::C::work_queue_specify_snapshot_file(@_) });

# ---- files ----

my $input = $Work_Queue::C::WORK_QUEUE_INPUT;
my $output = $Work_Queue::C::WORK_QUEUE_OUTPUT;
my $options = 'cache:flag failure_only:flag success_only:flag';
my $how = "flags:int $options";

# `flags` with the options that are named.
sub _flags_of {
    my ($flags, $cache, $failure_only, $success_only) = @_;
    my @options = (
        [$cache, $Work_Queue::C::WORK_QUEUE_CACHE],
        [$failure_only, $Work_Queue::C::WORK_QUEUE_FAILURE_ONLY],
        [$success_only, $Work_Queue::C::WORK_QUEUE_SUCCESS_ONLY],
    );
    $flags //= 0;
    for my $option (@options) {
        my ($wanted, $bit) = @$option;
        $flags = $wanted ? $flags | $bit : $flags & ~$bit if defined $wanted;
    }
    return $flags;
}

# As in CCTools the local name, unless it cannot be a name in the sandbox.
sub _remote {
    my ($local, $remote) = @_;
    return $remote // ($local =~ m{^/|/\z|(?:^|/)\.\.(?:/|\z)} ? File::Basename::basename($local) : $local);
}

_specify('specify_file', "local_name!:name remote_name type:int $how", sub {
    my ($c, $local, $remote, $type, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_file($c, $local, _remote($local, $remote), $type // $input, _flags_of(@how));
});
_specify('specify_input_file', "local_name!:name remote_name $how", sub {
    my ($c, $local, $remote, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_file($c, $local, _remote($local, $remote), $input, _flags_of(@how));
});
_specify('specify_output_file', "local_name!:name remote_name $how", sub {
    my ($c, $local, $remote, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_file($c, $local, _remote($local, $remote), $output, _flags_of(@how));
});
_specify('specify_file_piece', "local_name!:name remote_name start_byte:long end_byte:long type:int $how", sub {
    my ($c, $local, $remote, $start, $end, $type, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_file_piece($c, $local, _remote($local, $remote), $start // 0, $end // 0,
        $type // $input, _flags_of(@how));
});
_specify('specify_directory', "local_name remote_name type:int flags:int recursive:flag $options", sub {
    my ($c, $local, $remote, $type, $flags, $recursive, @how) = @_;
    Work_Queue::Arguments::refuse(__PACKAGE__ . '->specify_directory', 'local_name or remote_name is missing')
        unless defined $local || defined $remote;
    return Work_Queue::C::work_queue_task_specify_directory($c, $local, _remote($local, $remote), $type // $input,
        _flags_of($flags, @how), $recursive ? 1 : 0);
});
_specify('specify_buffer', "buffer!:bytes remote_name!:name $how", sub {
    my ($c, $buffer, $remote, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_buffer($c, $buffer, $remote, _flags_of(@how));
});
_specify('specify_url', "url!:name remote_name!:name type:int $how", sub {
    my ($c, $url, $remote, $type, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_url($c, $url, $remote, $type // $input, _flags_of(@how));
});
_specify('specify_file_command', "cmd!:name remote_name!:name type:int $how", sub {
    my ($c, $command, $remote, $type, @how) = @_;
    return Work_Queue::C::work_queue_task_specify_file_command($c, $command, $remote, $type // $input, _flags_of(@how));
});

1;
