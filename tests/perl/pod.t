#!/usr/bin/perl
# The manual pages of the modules are sound, and have every method, function and field; and a test calls each.
use strict;
use warnings;
use File::Basename qw(dirname);
use File::Spec ();
use Pod::Checker ();
use Pod::Text ();
use Test::More;
use Work_Queue;
use Work_Queue::Factory;

local @ARGV = grep { !/\bpod\.t$/ } glob dirname(File::Spec->rel2abs(__FILE__)) . '/*.t';
my $tests = do { local $/; join '', <> };
my %methods_at_least = (Work_Queue => 60, 'Work_Queue::Task' => 60, 'Work_Queue::Factory' => 6);
for my $class (sort keys %methods_at_least) {
    my $file = $INC{$class =~ s{::}{/}gr . '.pm'} =~ s/\.pm$/.pod/r;
    my $checker = Pod::Checker->new(-quiet => 1);
    $checker->parse_from_file($file, \*STDERR);
    is($checker->num_errors + $checker->num_warnings, 0, "the page of $class is sound");
    my $text = '';
    my $parser = Pod::Text->new;
    $parser->output_string(\$text);
    $parser->parse_file($file);

    # What Perl calls is not for programs, nor are names of the C struct that a documented field has, too.
    no strict 'refs';
    my %not_shown = map { $_ => 1 } qw(DESTROY CLONE_SKIP BEGIN END blessed import weaken);
    my @methods = grep { defined &{"${class}::$_"} && !$not_shown{$_} && /^[a-z]/ } keys %{"${class}::"};
    my @fields_of_c = grep { Work_Queue::C->can("work_queue_task_${_}_get") } @methods;
    my %optional = map { $_ => 1 } grep { !/^(tag|category|result|reason|host|hostname|return_status)$/ } @fields_of_c;
    my @missing = sort grep { $text !~ /\b\Q$_\E\b/ && !$optional{$_} } @methods;
    cmp_ok(scalar @methods, '>=', $methods_at_least{$class}, "$class has methods");
    is_deeply(\@missing, [], 'all are on its page');
    is_deeply([grep { $tests !~ /\b\Q$_\E\b/ && !$optional{$_} } sort @methods], [], 'and in a test');
}
done_testing();
