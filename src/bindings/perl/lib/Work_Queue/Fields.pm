package Work_Queue::Fields;

# Objects whose fields are read by name, as `$object->{field}` and as `$object->field`: a hash that calls a function for
# each field. Programs may keep data of their own beside the fields.

use strict;
use warnings;
use Carp ();
use Work_Queue::Arguments ();

# object CLASS, KIND, READERS, STATE: what the functions of READERS say of STATE. KIND is its name in messages.
sub object {
    my ($class, $kind, $readers, $state) = @_;
    tie my %fields, __PACKAGE__, $kind, $readers, $state;
    return bless \%fields, $class;
}

sub state_of {
    my ($object) = @_;
    my $fields = tied %$object or Carp::croak(ref($object) . ': this object was not made by new()');
    return $fields->{state};
}

# define CLASS, READERS: a method for each field that has none.
sub define {
    my ($class, $readers) = @_;
    no strict 'refs';
    for my $name (keys %$readers) {
        next if defined &{"${class}::$name"};
        my $read = $readers->{$name};
        *{"${class}::$name"} = sub { $read->(state_of($_[0])) };
    }
    return;
}

sub own { return $_[0]{own} }

sub TIEHASH {
    my ($class, $kind, $readers, $state) = @_;
    return bless {kind => $kind, readers => $readers, state => $state, own => {}}, $class;
}

sub FETCH {
    my ($self, $name) = @_;
    my $read = $self->{readers}{$name};
    return $read->($self->{state}) if $read;
    return $self->{own}{$name} if exists $self->{own}{$name};
    my $meant = Work_Queue::Arguments::closest($name, keys %{$self->{readers}});
    Carp::croak("$self->{kind} has no field '$name'" . (defined $meant ? "; did you mean '$meant'?" : ''));
}

sub STORE {
    my ($self, $name, $value) = @_;
    Carp::croak("$self->{kind}: '$name' can only be read; the methods specify_... change what can be changed")
        if $self->{readers}{$name};
    $self->{own}{$name} = $value;
    return;
}

sub EXISTS {
    my ($self, $name) = @_;
    return exists $self->{readers}{$name} || exists $self->{own}{$name};
}

sub DELETE {
    my ($self, $name) = @_;
    Carp::croak("$self->{kind}: '$name' cannot be deleted") if $self->{readers}{$name};
    return delete $self->{own}{$name};
}

sub CLEAR {
    my ($self) = @_;
    Carp::croak("$self->{kind}: the fields cannot be deleted");
}

sub FIRSTKEY {
    my ($self) = @_;
    $self->{left} = [sort keys %{$self->{readers}}, keys %{$self->{own}}];
    return shift @{$self->{left}};
}

sub NEXTKEY {
    my ($self) = @_;
    return shift @{$self->{left}};
}

sub SCALAR { return 1 }

# A record is a copy of all numbers and texts of a C struct.
my %readers_of;

# record CLASS, KIND, 'prefix of C functions', POINTER
sub record {
    my ($class, $kind, $prefix, $pointer) = @_;
    my $getters = getters($prefix);
    my %copy = map { $_ => scalar $getters->{$_}->($pointer) } keys %$getters;
    return object($class, $kind, readers_of_record($class, $getters), \%copy);
}

sub readers_of_record {
    my ($class, $getters) = @_;
    return $readers_of{$class} ||= do {
        my %readers = map { my $name = $_; $name => sub { $_[0]{$name} } } keys %$getters;
        $readers{task_running} = $readers{tasks_running} if $readers{tasks_running};    # as in CCTools' manual
        define($class, \%readers);
        \%readers;
    };
}

my %getters_of;

# The C functions that read the fields of a struct, by field.
sub getters {
    my ($struct) = @_;
    return $getters_of{$struct} ||= do {
        no strict 'refs';
        +{map { /^${struct}_(\w+)_get$/ ? ($1 => \&{"Work_Queue::C::$_"}) : () } keys %Work_Queue::C::};
    };
}

# What a task has, got or used; undef for NULL.
sub resources {
    my ($summary) = @_;
    return unless $summary;
    my $record = record('Work_Queue::Resources', 'resources', 'rmsummary', $summary);
    my $copy = state_of($record);
    $copy->{$_} = resources($copy->{$_}) for qw(limits_exceeded peak_times);
    $record->{snapshots} =
        [map { resources(Work_Queue::C::snapshot_of($summary, $_)) } 0 .. $copy->{snapshots_count} - 1];
    return $record;
}

1;
