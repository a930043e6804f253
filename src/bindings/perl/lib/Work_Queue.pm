package Work_Queue;

use 5.014;
use strict;
use warnings;
use Carp ();
use Exporter qw(import);
use Scalar::Util qw(blessed weaken);
use Work_Queue::Arguments ();
use Work_Queue::C;
use Work_Queue::Fields ();
use Work_Queue::Task;

our $VERSION = Work_Queue::C::cctools_version_string();
our (@EXPORT, @EXPORT_OK, %EXPORT_TAGS);

# Each constant is a variable and a function, here and in the program: $WORK_QUEUE_INPUT and WORK_QUEUE_INPUT.
for my $name (grep { /^(WORK_QUEUE|CATEGORY)_[A-Z_]+$/ } keys %Work_Queue::C::) {
    no strict 'refs';
    my $value = ${"Work_Queue::C::$name"};
    *$name = \$value;
    *$name = sub () { $value };
    Internals::SvREADONLY($value, 1);
    push @EXPORT, $name, "\$$name";
}

sub CLONE_SKIP { return 1 }

# ---- beginning and end ----

# Queues by the address of their state: `c` is the C queue, `tasks` are the tasks that it has, by id, `arrived` are those
# that the C queue has returned, `serving` is the process in which the queue serves workers.
my %living;

Work_Queue::Arguments::define(__PACKAGE__, 'new',
    'port:port name shutdown:flag stats_log transactions_log debug_log ssl:ssl catalog:flag', sub {
    my ($class, $port, $name, $shutdown, $stats_log, $transactions_log, $debug_log, $ssl) = @_;
    specify_debug_log($debug_log) if defined $debug_log;
    my $c = _listening($port // $Work_Queue::C::WORK_QUEUE_DEFAULT_PORT, $ssl) or return;
    Work_Queue::C::work_queue_specify_name($c, $name) if defined $name;
    if (defined $stats_log && !Work_Queue::C::work_queue_specify_log($c, $stats_log)
        || defined $transactions_log && !Work_Queue::C::work_queue_specify_transactions_log($c, $transactions_log)) {
        Work_Queue::C::work_queue_delete($c);
        return;
    }
    my $state = {c => $c, tasks => {}, arrived => [], shutdown => $shutdown, ssl => $ssl ? 1 : 0};
    my $self = Work_Queue::Fields::object($class, 'a queue', _readers(), $state);
    weaken($living{$state} = $state);
    return $self;
});

# A C queue; undef, with a line on stderr: the port cannot be had.
sub _listening {
    my ($port, $ssl) = @_;
    my @files = ref $ssl ? @$ssl : $ssl ? ('', '') : (undef, undef);
    return Work_Queue::C::work_queue_ssl_create(0 + $port, @files) unless ref $port;
    delete local $ENV{WORK_QUEUE_PORT};
    local @ENV{qw(WORK_QUEUE_LOW_PORT WORK_QUEUE_HIGH_PORT)} = @$port;
    return Work_Queue::C::work_queue_ssl_create(0, @files);
}

# The program still has its tasks, and may submit them to another queue.
sub _finish {
    my ($state) = @_;
    my $c = delete $state->{c} or return;
    delete $living{$state};
    Work_Queue::C::work_queue_shut_down_workers($c, 0) if $state->{shutdown} && ($state->{serving} || 0) == $$;
    Work_Queue::C::work_queue_delete($c);
    _release($_) for values %{$state->{tasks}};
    $state->{tasks} = {};
    return;
}

sub _release {
    my ($task) = @_;
    Work_Queue::Fields::state_of($task)->{queued} = 0;
    return;
}

sub DESTROY {
    my ($self) = @_;
    my $fields = tied %$self or return;
    local ($., $@, $!, $^E, $?);
    _finish($fields->{state});
    return;
}

# Before the objects of the program are destroyed in an unknown order.
END {
    local ($., $@, $!, $^E, $?);
    _finish($_) for grep { defined } values %living;
}

sub _refuse {
    my ($method, $why) = @_;
    Work_Queue::Arguments::refuse(__PACKAGE__ . "->$method", $why);
}

# _method METHOD, PARAMETERS, CODE: CODE gets the C queue and the values.
sub _method {
    my ($method, $parameters, $code) = @_;
    Work_Queue::Arguments::define(__PACKAGE__, $method, $parameters, sub {
        my ($self, @values) = @_;
        my $state = Work_Queue::Fields::state_of($self);
        return $code->($state->{c} || _refuse($method, 'the queue has ended'), @values);
    });
    return;
}

# Same for methods that must be called before the queue serves workers.
sub _early {
    my ($method, $parameters, $code) = @_;
    Work_Queue::Arguments::define(__PACKAGE__, $method, $parameters, sub {
        my ($self, @values) = @_;
        my $state = Work_Queue::Fields::state_of($self);
        _refuse($method, 'too late: call it before the first wait() or other call for results') if $state->{serving};
        return $code->($state->{c} || _refuse($method, 'the queue has ended'), @values);
    });
    return;
}

# Same for methods that begin to serve workers; CODE gets the state.
sub _serving {
    my ($method, $parameters, $code) = @_;
    Work_Queue::Arguments::define(__PACKAGE__, $method, $parameters, sub {
        my ($self, @values) = @_;
        my $state = Work_Queue::Fields::state_of($self);
        _serve($method, $state);
        return $code->($state, @values);
    });
    return;
}

sub _serve {
    my ($method, $state) = @_;
    _refuse($method, 'the queue has ended') unless $state->{c};
    $state->{serving} ||= $$;
    _refuse($method, 'this queue belongs to the parent process') unless $state->{serving} == $$;
    return;
}

sub _other_names {
    my ($method, @names) = @_;
    no strict 'refs';
    *$_ = \&$method for @names;
    return;
}

# ---- tasks ----

Work_Queue::Arguments::define(__PACKAGE__, 'submit', 'task!:task', sub {
    my ($self, $task) = @_;
    my ($queue, $state) = map { Work_Queue::Fields::state_of($_) } $self, $task;
    _refuse('submit', 'the queue has ended') unless $queue->{c};
    _refuse('submit', "task $state->{queued} is already in a queue: submit a clone()") if $state->{queued};
    my $id = Work_Queue::C::work_queue_submit($queue->{c}, $state->{c}) or return 0;
    $queue->{tasks}{$id} = $task;
    return $state->{queued} = $id;
});

# The object of a task that the C queue has returned.
sub _returned {
    my ($queue, $c) = @_;
    return undef unless $c;    # also in a list: programs push what wait() returns
    my $task = delete $queue->{tasks}{Work_Queue::C::work_queue_task_taskid_get($c)};
    _release($task);
    return $task;
}

# As in CCTools, 0 means 1 s and other negative numbers 5 s. A signal handler that dies leaves the task in `arrived`, for
# another call.
sub _next_task {
    my ($queue, $tag, $timeout) = @_;
    $timeout = $timeout == 0 ? 1 : $timeout < 0 && $timeout != -1 ? 5 : $timeout > 1e9 ? 1e9 : $timeout;
    my $milliseconds = $timeout == -1 ? -1 : int($timeout * 1000 + 0.999);
    my $arrived = $queue->{arrived};
    @$arrived = grep { defined } @$arrived;
    my ($place) = grep { !defined $tag || (Work_Queue::C::work_queue_task_tag_get($arrived->[$_]) // '') eq $tag } 0 .. $#$arrived;
    push @$arrived, scalar Work_Queue::C::wait_for_task($queue->{c}, $tag, $milliseconds) unless defined $place;
    return _returned($queue, splice @$arrived, $place // -1, 1);
}

_serving('wait', 'timeout:number', sub {
    my ($queue, $timeout) = @_;
    return _next_task($queue, undef, $timeout // -1);
});
_serving('wait_for_tag', '=tag timeout:number', sub {
    my ($queue, $tag, $timeout) = @_;
    return _next_task($queue, $tag, $timeout // -1);
});
_serving('cancel_by_taskid', 'id!:int', sub {
    my ($queue, $id) = @_;
    return _returned($queue, Work_Queue::C::work_queue_cancel_by_taskid($queue->{c}, $id));
});
_serving('cancel_by_tasktag', 'tag', sub {
    my ($queue, $tag) = @_;
    return _returned($queue, Work_Queue::C::work_queue_cancel_by_tasktag($queue->{c}, $tag));
});

sub _cancel_all_of {
    my ($queue, $category) = @_;
    my @ids = sort { $a <=> $b } grep { !defined $category || $queue->{tasks}{$_}->category eq $category }
        keys %{$queue->{tasks}};
    return grep { defined } map { _returned($queue, Work_Queue::C::work_queue_cancel_by_taskid($queue->{c}, $_)) } @ids;
}
_serving('cancel_by_category', 'category!', sub { my @tasks = _cancel_all_of(@_); return @tasks });
_serving('cancel_all_tasks', '', sub { my @tasks = _cancel_all_of(@_); return @tasks });
_serving('hungry', '', sub { Work_Queue::C::work_queue_hungry($_[0]{c}) });
_serving('task_state', 'taskid!:int', sub { Work_Queue::C::work_queue_task_state($_[0]{c}, $_[1]) });
Work_Queue::Arguments::define(__PACKAGE__, 'empty', '', sub { %{Work_Queue::Fields::state_of($_[0])->{tasks}} ? 0 : 1 });
_method('specify_min_taskid', 'minid!:int', sub { Work_Queue::C::work_queue_specify_min_taskid(@_) });

# ---- workers ----

_serving('shutdown_workers', 'n:int', sub { Work_Queue::C::work_queue_shut_down_workers($_[0]{c}, $_[1] // 0) });
_serving('specify_draining_by_hostname', 'hostname!:name drain_mode:flag', sub {
    my ($queue, $host, $drain) = @_;
    return Work_Queue::C::work_queue_specify_draining_by_hostname($queue->{c}, $host, $drain // 1 ? 1 : 0);
});
_method('block_host', 'host!:name', sub { Work_Queue::C::work_queue_block_host(@_); return });
_method('block_host_with_timeout', 'host!:name timeout!:long', sub {
    Work_Queue::C::work_queue_block_host_with_timeout(@_);
    return;
});
_method('unblock_host', 'host', sub {
    my ($c, $host) = @_;
    defined $host ? Work_Queue::C::work_queue_unblock_host($c, $host) : Work_Queue::C::work_queue_unblock_all($c);
    return;
});
_other_names(block_host => 'blacklist');
_other_names(block_host_with_timeout => 'blacklist_with_timeout');
_other_names(unblock_host => 'blacklist_clear');
_method('invalidate_cache_file', 'local_name!:name', sub {
    Work_Queue::C::work_queue_invalidate_cached_file(@_, $Work_Queue::C::WORK_QUEUE_FILE);
    return;
});

# ---- settings ----

_method('specify_password', 'password!:name', sub { Work_Queue::C::work_queue_specify_password(@_); return });
_method('specify_password_file', 'file!:name', sub { Work_Queue::C::work_queue_specify_password_file(@_) });
_early('specify_contact_file', 'file!:name', sub { Work_Queue::C::work_queue_specify_contact_file(@_) });
_method('specify_status', 'who!:name', sub { Work_Queue::C::work_queue_specify_status(@_) });
_method('specify_name', 'name', sub { Work_Queue::C::work_queue_specify_name(@_); return });
_method('specify_log', 'logfile!:name', sub { Work_Queue::C::work_queue_specify_log(@_) });
_method('specify_transactions_log', 'logfile!:name', sub { Work_Queue::C::work_queue_specify_transactions_log(@_) });

# _settings 'parameters', METHODS: methods that set something, and call the C function of their name.
sub _settings {
    my ($parameters, @methods) = @_;
    for my $method (@methods) {
        my $call = Work_Queue::C->can("work_queue_$method");
        _method($method, $parameters, sub { $call->(@_); return });
    }
    return;
}
_settings('algorithm!:int', 'specify_algorithm');
_settings('order!:int', 'specify_task_order');
_settings('priority!:int', 'specify_priority');
_settings('ntasks!:int', 'specify_num_tasks_left');
_settings('mode!:int', 'specify_manager_mode');
_settings('hostname!:name port!:int', 'specify_catalog_server');
_settings('hosts!:name', 'specify_catalog_servers');
_settings('interval!:int', 'specify_keepalive_interval');
_settings('timeout!:int', 'specify_keepalive_timeout');
_settings('bandwidth!', 'set_bandwidth_limit');
_settings('category!:name max_concurrent!:int', 'specify_category_max_concurrent');
_method('specify_manager_preferred_connection', 'mode!:name', sub {
    Work_Queue::C::work_queue_manager_preferred_connection(@_);
    return;
});
_other_names(specify_manager_mode => 'specify_master_mode');
_other_names(specify_manager_preferred_connection => 'specify_master_preferred_connection');
_method('activate_worker_waiting', 'workers!:int', sub {
    my ($c, $workers) = @_;
    return Work_Queue::C::work_queue_tune($c, 'wait-for-workers', $workers);
});
_method('estimate_capacity', '', sub { Work_Queue::C::work_queue_specify_estimate_capacity_on($_[0], 1); return });
_method('tune', 'name!:name value!:number', sub { Work_Queue::C::work_queue_tune(@_) });
_method('activate_fast_abort', 'multiplier!:number', sub { Work_Queue::C::work_queue_activate_fast_abort(@_) });
_method('activate_fast_abort_category', 'name!:name multiplier!:number', sub {
    Work_Queue::C::work_queue_activate_fast_abort_category(@_);
});
for my $name (qw(enable_monitoring enable_monitoring_full)) {
    my $enable = Work_Queue::C->can("work_queue_$name");
    _method($name, 'dirname watchdog:flag', sub {
        my ($c, $folder, $watchdog) = @_;
        return $enable->($c, $folder, $watchdog // 1 ? 1 : 0);
    });
}

# ---- resources of categories ----

# _with_resources METHOD, {cores => 1}, CODE: calls CODE with them in a C struct.
sub _with_resources {
    my ($method, $resources, $code) = @_;
    my $known = Work_Queue::Fields::getters('rmsummary');
    for my $name (sort keys %{$resources || {}}) {
        _refuse($method, "there is no resource '$name'; give cores, memory (MB), disk (MB) or gpus") unless $known->{$name};
        _refuse($method, "$name is '$resources->{$name}', but must be a number")
            unless defined $resources->{$name} && Work_Queue::Arguments::finite($resources->{$name});
    }
    my $summary = Work_Queue::C::rmsummary_create(-1);
    Work_Queue::C::rmsummary_set($summary, $_, 0 + $resources->{$_}) for keys %{$resources || {}};
    $code->($summary);
    Work_Queue::C::rmsummary_delete($summary);
    return;
}

for my $name (qw(specify_max_resources specify_min_resources)) {
    my $call = Work_Queue::C->can("work_queue_$name");
    _method($name, 'resources!:resources', sub {
        my ($c, $resources) = @_;
        return _with_resources($name, $resources, sub { $call->($c, $_[0]) });
    });
}
for my $name (qw(specify_category_max_resources specify_category_min_resources specify_category_first_allocation_guess)) {
    my $call = Work_Queue::C->can("work_queue_$name");
    _method($name, 'category!:name resources!:resources', sub {
        my ($c, $category, $resources) = @_;
        return _with_resources($name, $resources, sub { $call->($c, $category, $_[0]) });
    });
}
_method('initialize_categories', 'resources:resources filename!:name', sub {
    my ($c, $resources, $file) = @_;
    return _with_resources('initialize_categories', $resources,
        sub { Work_Queue::C::work_queue_initialize_categories($c, $_[0], $file) });
});
_method('specify_category_mode', 'category mode!:int', sub { Work_Queue::C::work_queue_specify_category_mode(@_) });
_method('specify_category_autolabel_resource', 'category!:name resource!:name autolabel!:flag', sub {
    my ($c, $category, $resource, $autolabel) = @_;
    return Work_Queue::C::work_queue_enable_category_resource($c, $category, $resource, $autolabel ? 1 : 0);
});

# ---- figures ----

# _stats_by CODE: what CODE writes to a C struct.
sub _stats_by {
    my ($code) = @_;
    my $stats = Work_Queue::C::new_stats();
    $code->($stats);
    my $copy = Work_Queue::Fields::record('Work_Queue::Stats', 'a queue\'s statistics', 'work_queue_stats', $stats);
    Work_Queue::C::delete_stats($stats);
    return $copy;
}
my %reads_stats = (
    stats => \&Work_Queue::C::work_queue_get_stats,
    stats_hierarchy => \&Work_Queue::C::work_queue_get_stats_hierarchy,
);
for my $name (keys %reads_stats) {
    _serving($name, '', sub {
        my ($queue) = @_;
        return _stats_by(sub { $reads_stats{$name}->($queue->{c}, $_[0]) });
    });
}
_serving('stats_category', 'category!:name', sub {
    my ($queue, $category) = @_;
    return _stats_by(sub { Work_Queue::C::work_queue_get_stats_category($queue->{c}, $category, $_[0]) });
});

sub _status_of {
    my ($queue, $request) = @_;
    my $status = Work_Queue::C::work_queue_status($queue->{c}, $request);
    return undef unless defined $status;    # a line on stderr has said why
    require JSON::PP;
    return JSON::PP::decode_json($status);
}
_serving('status', 'request:name', sub {
    my ($queue, $request) = ($_[0], $_[1] // 'queue');
    _refuse('status', "there is no status of '$request'; give queue, tasks, workers or categories")
        unless grep { $_ eq $request } qw(queue tasks workers categories);
    return _status_of($queue, $request);
});
_serving('application_info', '', sub { my $status = _status_of($_[0], 'queue'); return $status ? $status->[0] : undef });
_serving('workers_summary', '', sub { return Work_Queue::C::summaries_of($_[0]{c}) });

# What $q->{port} and the like say; $q->port does the same.
sub _readers {
    my %readers = (
        port => sub { $_[0]{c} ? Work_Queue::C::work_queue_port($_[0]{c}) : undef },
        name => sub { $_[0]{c} ? Work_Queue::C::work_queue_name($_[0]{c}) : undef },
        using_ssl => sub { $_[0]{ssl} },
    );
    for my $name (keys %reads_stats) {
        $readers{$name} = sub {
            my ($queue) = @_;
            _serve($name, $queue);
            return _stats_by(sub { $reads_stats{$name}->($queue->{c}, $_[0]) });
        };
    }
    return \%readers;
}
Work_Queue::Fields::define(__PACKAGE__, _readers());

# ---- functions ----

# Also as methods of the class and its queues.
sub _plain { return grep { !defined || (ref ? !blessed $_ : $_ ne __PACKAGE__) } @_ }

sub set_debug_flag {
    my $known = 1;
    $known &= Work_Queue::C::cctools_debug_flags_set("$_") for _plain(@_);
    return $known;
}

sub specify_debug_log {
    my ($file) = _plain(@_);
    Work_Queue::C::cctools_debug_flags_set('all');
    Work_Queue::C::cctools_debug_config_file_size(0);
    Work_Queue::C::cctools_debug_config_file(defined $file ? "$file" : undef);
    return;
}

sub set_debug_config_file {
    my ($file) = _plain(@_);
    Work_Queue::C::cctools_debug_config_file(defined $file ? "$file" : undef);
    return;
}
_other_names(specify_debug_log => 'set_debug_log');

sub specify_port_range {
    my ($low, $high) = _plain(@_);
    for ($low, $high) {
        _refuse('specify_port_range', 'give the lowest and the highest port')
            unless defined && Work_Queue::Arguments::whole($_) && $_ > 0 && $_ < 65536;
    }
    @ENV{qw(WORK_QUEUE_LOW_PORT WORK_QUEUE_HIGH_PORT)} = ($low, $high);
    return;
}

1;
