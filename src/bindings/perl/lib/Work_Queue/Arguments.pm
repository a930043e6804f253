package Work_Queue::Arguments;

# The arguments of our methods: by position, by name, or first some by position and then others by name. Wrong ones die
# with one line that says what is right.

use strict;
use warnings;
use Carp ();
use overload ();
use Scalar::Util qw(blessed looks_like_number);

# Messages name the line of the program, not one of ours.
$Carp::Internal{$_}++ for map { "Work_Queue$_" } '', qw(::Task ::Factory ::Arguments ::Fields);

my %is_wrong = (
    text => sub { !textual($_[0]) ? 'a text' : "$_[0]" =~ /\0/ ? 'a text without NUL bytes' : undef },
    name => sub { !textual($_[0]) || "$_[0]" eq '' || "$_[0]" =~ /\0/ ? 'a text that is not empty' : undef },
    int => sub { whole($_[0]) && abs $_[0] < 2**31 ? undef : 'a whole number' },
    long => sub { whole($_[0]) && abs $_[0] < 2**63 ? undef : 'a whole number' },
    number => sub { finite($_[0]) ? undef : 'a number' },
    bytes => sub { my $copy = $_[0]; !ref $copy && utf8::downgrade($copy, 1) ? undef : 'bytes: use Encode::encode' },
    flag => sub { undef },
    port => sub {
        my @ports = ref $_[0] eq 'ARRAY' && @{$_[0]} == 2 ? @{$_[0]} : ($_[0]);
        return (grep { !whole($_) || $_ < -1 || $_ > 65535 } @ports) ? 'a port number, or [lowest, highest]' : undef;
    },
    ssl => sub { !ref $_[0] || ref $_[0] eq 'ARRAY' && @{$_[0]} == 2 ? undef : '1, 0, or [key file, certificate file]' },
    resources => sub { ref $_[0] eq 'HASH' ? undef : 'a hash such as {cores => 2, memory => 1024}' },
    task => sub { blessed $_[0] && $_[0]->isa('Work_Queue::Task') ? undef : 'a Work_Queue::Task' },
);

# Also objects that are texts, such as paths.
sub textual {
    my ($value) = @_;
    return !ref $value || blessed $value && overload::Method($value, '""');
}

sub finite {
    my ($value) = @_;
    return !ref $value && looks_like_number($value) && abs $value < 9**9**9;
}

sub whole {
    my ($value) = @_;
    return finite($value) && $value == int $value;
}

# define PACKAGE, 'method', 'name! other:int', CODE: the method calls CODE with its object and one value for each
# parameter; undef: not given. '!': it must be given. A word after ':' is its kind, else it is a text. In a list that
# begins with '=', arguments that are right by position are not taken for names, since a first text may be any.
sub define {
    my ($package, $method, $list, $code) = @_;
    my $by_position = $list =~ s/^=//;
    my @parameters = map { {name => $1, needed => $2, kind => $3 || 'text'} if /^(\w+)(!?):?(\w*)$/ } split ' ', $list;
    my $called = "${package}->$method";
    no strict 'refs';
    *{"${package}::$method"} = sub {
        my $self = shift;
        return $code->($self, values_of($called, \@parameters, $by_position, @_));
    };
    return;
}

sub refuse {
    my ($called, $why) = @_;
    Carp::croak("$called: $why");
}

sub values_of {
    my ($called, $parameters, $by_position, @given) = @_;
    my %number = map { $parameters->[$_]{name} => $_ } 0 .. $#$parameters;
    my $known = @$parameters == 0 ? 'there are no arguments' : (@$parameters == 1 ? 'the argument is ' : 'the arguments are ')
        . join ', ', map { $_->{name} } @$parameters;
    my $fits = $by_position && fits($parameters, \@given);
    my $first = $fits ? @given : first_name($parameters, \%number, \@given);
    if ($first == @given) {
        my $unknown = $fits ? undef : misspelt(\%number, \@given);
        refuse($called, "there is no argument '$unknown'; $known") if defined $unknown;
        refuse($called, "too many arguments; $known") if @given > @$parameters;
    }
    my @values = @given[0 .. $first - 1];
    my @named = @given[$first .. $#given];
    while (my ($name, $value) = splice @named, 0, 2) { $values[$number{$name}] = $value }
    for my $place (0 .. $#$parameters) {
        my ($parameter, $value) = ($parameters->[$place], $values[$place]);
        refuse($called, "$parameter->{name} is missing; $known") if $parameter->{needed} && !defined $value;
        my $wanted = defined $value ? $is_wrong{$parameter->{kind}}->($value) : undef;
        refuse($called, "$parameter->{name} is '$value', but must be $wanted; $known") if defined $wanted;
        # SWIG takes no number for a text.
        $values[$place] = "$value" if defined $value && $parameter->{kind} =~ /^(?:text|name|bytes)$/;
        $values[$place] = 0 + $value if defined $value && $parameter->{kind} =~ /^(?:int|long|number)$/;
    }
    $#values = $#$parameters;
    return @values;
}

# Whether all are right by position.
sub fits {
    my ($parameters, $given) = @_;
    return @$given <= @$parameters
        && !grep { defined $given->[$_] && defined $is_wrong{$parameters->[$_]{kind}}->($given->[$_]) } 0 .. $#$given;
}

# The number of arguments before the first name.
sub first_name {
    my ($parameters, $number, $given) = @_;
    FIRST: for my $first (0 .. @$given - 1) {
        next if (@$given - $first) % 2 || $first > @$parameters;
        my %has = map { $_ => 1 } 0 .. $first - 1;
        for (my $place = $first; $place < @$given; $place += 2) {
            my $name = $given->[$place];
            next FIRST if !defined $name || ref $name || !exists $number->{$name} || $has{$number->{$name}}++;
        }
        my $named = $first == 0 && @$given > 2;    # certainly; a missing one is reported later
        next if !$named && grep { $parameters->[$_]{needed} && !$has{$_} } 0 .. $#$parameters;
        return $first;
    }
    return scalar @$given;
}

# The first argument that was meant as a name but is none, if all can be names and one is known or nearly known.
sub misspelt {
    my ($number, $given) = @_;
    for my $first (0 .. @$given - 1) {
        my @names = @$given[grep { ($_ - $first) % 2 == 0 } $first .. $#$given];
        next if (@$given - $first) % 2 || grep { !defined || ref || !/^[A-Za-z_]{3,}$/ } @names;
        next unless grep { exists $number->{$_} || defined closest($_, keys %$number) } @names;
        my @unknown = grep { !exists $number->{$_} } @names;
        return $unknown[0] if @unknown;
    }
    return;
}

# The word that differs from this one in at most two letters, a short one in one; undef: none.
sub closest {
    my ($word, @words) = @_;
    my ($best, $least) = (undef, length $word > 4 ? 3 : length $word > 3 ? 2 : 0);
    for my $other (sort @words) {
        my $distance = abs(length($word) - length $other) < $least ? distance($word, $other) : $least;
        ($best, $least) = ($other, $distance) if $distance < $least;
    }
    return $best;
}

# How many letters to insert, delete or replace.
sub distance {
    my ($from, $to) = @_;
    my @row = 0 .. length $to;
    for my $i (1 .. length $from) {
        my ($corner, $left) = ($row[0], $i);
        $row[0] = $i;
        for my $j (1 .. length $to) {
            my $above = $row[$j];
            my $cost = $corner + (substr($from, $i - 1, 1) ne substr($to, $j - 1, 1));
            $cost = $above + 1 if $above + 1 < $cost;
            $cost = $row[$j - 1] + 1 if $row[$j - 1] + 1 < $cost;
            ($corner, $row[$j]) = ($above, $cost);
        }
    }
    return $row[-1];
}

1;
