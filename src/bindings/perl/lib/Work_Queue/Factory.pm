package Work_Queue::Factory;

use strict;
use warnings;
use Scalar::Util qw(blessed);
use Work_Queue ();
use Work_Queue::Arguments ();
use Work_Queue::C;
use Work_Queue::Fields ();

sub CLONE_SKIP { return 1 }

# The queue stops its factories; the factory does not keep it alive.
sub new {
    my ($class, @given) = @_;
    my @first;
    push @first, batch_type => shift @given
        if !blessed $given[0] && (@given % 2 || blessed $given[1] && $given[0] ne 'manager');
    push @first, manager => shift @given if blessed $given[0];
    my %settings = (batch_type => 'local', @first, _pairs("$class->new", @given));
    my ($batch_type, $manager) = delete @settings{qw(batch_type manager)};
    my $elsewhere = grep { defined $settings{$_} } qw(manager_host_port manager_name);
    Work_Queue::Arguments::refuse("$class->new", 'manager is missing: give the Work_Queue whose tasks the workers run, or manager_host_port')
        unless blessed $manager && $manager->isa('Work_Queue') ? !$elsewhere : !defined $manager && $elsewhere == 1;
    my $state = $elsewhere ? undef : Work_Queue::Fields::state_of($manager);
    my $queue = $state && ($state->{c} or Work_Queue::Arguments::refuse("$class->new", 'the queue has ended'));
    my $c = Work_Queue::C::work_queue_factory_create($queue, $batch_type) or return;
    my $self = bless {c => $c, manager => $state}, $class;
    return $self->specify(%settings) ? $self : undef;
}

sub _pairs {
    my ($called, @given) = @_;
    Work_Queue::Arguments::refuse($called, 'give settings as pairs: max_workers => 20')
        if @given % 2 || grep { !defined || ref } @given[grep { $_ % 2 == 0 } 0 .. $#given];
    return @given;
}

sub specify {
    my ($self, @given) = @_;
    my %settings = _pairs(ref($self) . '->specify', @given);
    for my $name (sort keys %settings) {
        my $value = $settings{$name};
        for my $one (ref $value eq 'ARRAY' ? @$value : $value) {
            Work_Queue::C::work_queue_factory_specify($self->{c}, $name =~ tr/_/-/r, defined $one ? "$one" : undef)
                or return 0;
        }
    }
    return 1;
}

sub start {
    my ($self) = @_;
    Work_Queue::_serve('start of a factory', $self->{manager}) if $self->{manager};
    return Work_Queue::C::work_queue_factory_start($self->{c});
}

sub stop {
    my ($self) = @_;
    Work_Queue::C::work_queue_factory_stop($self->{c});
    return;
}

sub running {
    my ($self) = @_;
    return Work_Queue::C::work_queue_factory_running($self->{c});
}

sub report {
    my ($self) = @_;
    my $report = Work_Queue::C::new_report();
    my $copy = Work_Queue::C::work_queue_factory_get_report($self->{c}, $report)
        ? Work_Queue::Fields::record('Work_Queue::Factory::Report', 'a report', 'work_queue_factory_report', $report)
        : undef;
    Work_Queue::C::delete_report($report);
    return $copy;
}

# At the end of the program, the queues have stopped their factories.
sub DESTROY {
    my ($self) = @_;
    return if ${^GLOBAL_PHASE} eq 'DESTRUCT';
    local ($., $@, $!, $^E, $?);
    Work_Queue::C::work_queue_factory_delete(delete $self->{c});
    return;
}

1;
