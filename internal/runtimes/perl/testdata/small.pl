# A program whose values, errors and calls are of many kinds; small.pl thread: not in the main program.
use strict;
use warnings;
our @queue = (1, 2);

package Trouble { sub new { my ($class, %in) = @_; return bless {%in}, $class } }

package Shop {
	my $sold = 0;
	sub new { my ($class, @names) = @_; return bless {names => [@names], price => {apple => 0.25, pear => 1e21}, next => undef}, $class }
	sub pay {
		my ($self, $count, %how) = @_;
		my ($text, $wide, $bytes, $long) = ("a\"b\$c\n", "gr\x{fc}\x{df}e \x{263a}", "\xff\x01z", 'x' x 300);
		my ($big, $small, $float, $no, $half) = (18446744073709551615, -7, 1 / 3, undef, 12.5);
		my ($deep, $code, $named, $pattern, $glob) = ([1, [2, {k => [3, [4, [5]]]}]], sub { $count }, \&Shop::new, qr/^a.b$/i, \*STDOUT);
		my $own = [1];
		push @$own, $own, \$small, \\"two";
		my @list = (1 .. 14);
		my %empty;
		$sold++;
		for my $item (@list) {
			my $inner = $item * 2;
			return $self->charge($inner) if $item == 3;
		}
	}
	sub charge {
		my $self = shift;
		my $amount = shift;
		my @done = sort { main::compares($a, $b, $self) } 3, 4;
	}
	sub DESTROY { my $self = shift; main::gone($self->{names}[0]) }
}

sub compares {
	my ($x, $y, $shop) = @_;
	my $later = "not yet";
	my @all = map { my $scale = $_; eval { my $kept = $scale + 1; eval q{ my $written = $kept; fails($shop) } } } 1;
	my $never = 5;
}

sub fails {
	my ($of) = @_;
	local $SIG{__DIE__} = sub { my ($error) = @_; my $shop = Shop->new('pear'); undef $shop };
	eval { die Trouble->new(message => "no money\nat all", code => 3) };
}

sub gone {
	my ($name) = @_;
	my $address = pack 'Q', 1;
	eval { die "lost: $name\n" };
	return $main::how eq 'thread' ? unpack('p', $address) : kill(ABRT => $$);
}

our $how = shift // '';
my $shop = Shop->new('apple', 'pear');
sub begins { $shop->pay(2, with => 'card') }
if ($how eq 'thread') {
	require threads;
	threads->create(\&begins)->join;
}
begins();
