# Each case calls its way to dies(), which writes what caller says of the calls and ends the process: judge.pl CASE HOW.
use strict;
use warnings;
no warnings qw(recursion once);
our ($case, $how);
$Data::Dumper::Sortkeys = 0;
my %cases;

# says writes the calls, youngest first, each with the place that it runs.
sub says {
	open my $out, '>', 'said' or die $!;
	my ($i, $file, $line) = (0);
	while (my @c = caller($i)) {
		if ($i++) {
			my $name = $c[3];
			$name = !defined $c[6] ? 'eval {...}' : $c[7] ? "require $c[6]" : "eval '...'" if $name eq '(eval)';
			print $out "$name\t$file\t$line\n";
		}
		($file, $line) = @c[1, 2];
	}
	print $out "main program\t$file\t$line\n" unless $main::cloned || !$line;
	close $out;
}
sub dies { my ($why) = @_; says(); $how eq 'kill' ? (kill(ABRT => $$), sleep(9)) : $how eq 'dump' ? CORE::dump() : $how eq 'posix' ? POSIX::abort() : $how eq 'xs' ? bless(\(my $n = 16), 'B::SV')->REFCNT : unpack('p', pack('Q', 1)); }

$cases{"plain"} = sub { inner(1, 'two', [3]) };
sub inner { my ($n, $s, $list) = @_; my %h = (a => $n, b => $list); dies($s) if $n; return \%h }

$cases{"recursion"} = sub { down(900) };
sub down { my $n = shift; dies('deep') unless $n; return down($n - 1) + 1 }

$cases{"recursion-eval"} = sub { downs(300) };
sub downs { my $n = shift; dies('deep') unless $n; return eval { downs($n - 1) } }

$cases{"sort-block"} = sub { my @l = sort { my $c = inner(1); $c } 3, 4; };
$cases{"sort-last"} = sub { my @l = sort { compares($a, $b) } 3, 4; };
sub compares { dies('sort') }
$cases{"sort-bare"} = sub { my @l = sort compares 3, 4; };
$cases{"sort-prototype"} = sub { my @l = sort compares2 3, 4; };
sub compares2($$) { dies('sort') }
$cases{"sort-eval"} = sub { eval { my @l = sort { eval { my @m = sort { eval { compares() }; 1 } 1, 2; 1 }; 1 } 3, 4; } };
$cases{"sort-no-call"} = sub { my @l = sort { $a == 3 and dies('here'); 1 } 3, 4; };

package Gone { sub new { bless {of => $_[1]}, $_[0] } sub DESTROY { my $self = shift; main::dies('gone') if $self->{of} } }
$cases{"destroy"} = sub { my $o = Gone->new('x'); undef $o; };
$cases{"destroy-scope"} = sub { { my $o = Gone->new('x'); } 1 };
$cases{"destroy-die"} = sub { eval { my $o = Gone->new('x'); die "trouble\n" }; };
$cases{"destroy-global"} = sub { our $global = Gone->new('x'); exit 0 };
$cases{"destroy-deep"} = sub { my $o = [{a => Gone->new('x')}]; $o = 1; };
$cases{"destroy-eval"} = sub { eval { eval q{my $o = Gone->new('y'); die {code => 5}}; } };

package Tied { sub TIESCALAR { bless [], shift } sub FETCH { main::dies('fetch') } sub STORE { main::dies('store') }
	sub TIEHASH { bless {}, shift } sub FIRSTKEY { main::dies('first') } sub TIEARRAY { bless [], shift } sub FETCHSIZE { main::dies('size') }
	sub TIEHANDLE { bless [], shift } sub PRINT { main::dies('print') } }
$cases{"tie-scalar"} = sub { tie my $t, 'Tied'; my $x = "a$t"; };
$cases{"tie-store"} = sub { tie my $t, 'Tied'; $t = 5; };
$cases{"tie-hash"} = sub { tie my %t, 'Tied'; my @k = keys %t; };
$cases{"tie-array"} = sub { tie my @t, 'Tied'; my $n = @t; };
$cases{"tie-handle"} = sub { tie *H, 'Tied'; print H "x"; };
$cases{"tie-local"} = sub { tie our $g, 'Tied'; my @l = map { $_ . $g } 1, 2; };

package Over { use overload '+' => sub { main::dies('plus') }, '""' => sub { main::dies('text') }, '<=>' => \&less, '@{}' => sub { main::dies('array') }, 'bool' => sub { main::dies('bool') };
	sub less { main::dies('less') } sub new { bless {}, shift } }
$cases{"overload-plus"} = sub { my $x = Over->new + 1; };
$cases{"overload-text"} = sub { my $x = "a" . Over->new . "b"; };
$cases{"overload-sort"} = sub { my @l = sort { $a <=> $b } Over->new, Over->new; };
$cases{"overload-array"} = sub { my ($x) = @{Over->new}; };
$cases{"overload-bool"} = sub { if (Over->new) { 1 } };

$cases{"list-util"} = sub { require List::Util; List::Util::first(sub { inner($_) }, 1, 2) };
$cases{"list-util-three"} = sub { require List::Util; List::Util::first(sub { List::Util::reduce(sub { List::Util::any(sub { eval { inner(3) } }, 5) }, 1, 2) }, 1, 2) };
$cases{"list-util-sort"} = sub { require List::Util; my @l = sort { List::Util::first(sub { my @m = sort { compares() } 1, 2; 1 }, 1); 1 } 1, 2 };
$cases{"list-util-recursive"} = sub { require List::Util; three(3) };
sub three { my $n = shift; List::Util::first(sub { $n ? three($n - 1) : dies('three') }, 1) }
$cases{"dumper"} = sub { require Data::Dumper; local $Data::Dumper::Sortkeys = sub { dies('keys'); [] }; Data::Dumper::Dumper({a => 1}) };
$cases{"storable"} = sub { require Storable; Storable::freeze(bless {}, 'Hooked') };
sub Hooked::STORABLE_freeze { dies('freeze') }

$cases{"eval-text"} = sub { eval "inner(1);\n1" };
$cases{"eval-text-deep"} = sub { eval "\n\neval q{\n eval { eval 'inner(7)' } }" };
$cases{"eval-text-sub"} = sub { eval 'sub made { inner(8) } 1' or die $@; made() };
$cases{"line-directive"} = sub { eval qq{#line 77 "elsewhere.tt"\ninner(9);\n1} };
$cases{"begin"} = sub { eval 'BEGIN { inner(1) }' };
$cases{"require"} = sub { file('Needed.pm', 'package Needed; main::inner(2); 1;'); require Needed; };
$cases{"do-file"} = sub { file('done.pl', "\nmain::inner(2);\n1;"); do './done.pl'; };
$cases{"use"} = sub { file('Used.pm', "package Used;\nsub import { main::inner(2) }\n1;"); eval 'use Used; 1' };
$cases{"use-deep"} = sub { file('A1.pm', "package A1;\nuse A2;\n1;"); file('A2.pm', "package A2;\nBEGIN { eval { main::inner(3) } }\n1;"); require A1 };
$cases{"inc-hook"} = sub { unshift @INC, sub { inner(4) if $_[1] eq 'Not/Here.pm'; return }; eval { require Not::Here } };
sub file { my ($name, $text) = @_; unshift @INC, '.'; open my $out, '>', $name or die $!; print $out $text; close $out }

$cases{"signal"} = sub { local $SIG{USR1} = sub { inner(5) }; kill USR1 => $$; my $x = 0; $x++ for 1 .. 10 };
$cases{"signal-named"} = sub { local $SIG{ALRM} = 'handler'; alarm 1; while (1) { my $y = join ',', 1 .. 5 } };
sub handler { my $s = shift; dies($s) }
$cases{"signal-unsafe"} = sub { require POSIX; POSIX::sigaction(POSIX::SIGUSR1(), POSIX::SigAction->new(sub { inner(6) })); kill USR1 => $$; my $x = 0; $x++ for 1 .. 1000 };
$cases{"die-hook"} = sub { local $SIG{__DIE__} = sub { my $e = shift; dies($e) }; eval { die "no money" } };
$cases{"die-hook-object"} = sub { local $SIG{__DIE__} = sub { dies($_[0]) }; raise() };
sub raise { die bless {message => 'none left', code => 3}, 'Trouble' }
$cases{"warn-hook"} = sub { local $SIG{__WARN__} = sub { dies(@_) }; my $x; my $y = "a" . $x };

$cases{"substitute"} = sub { (my $t = 'abc') =~ s/b/inner(1)/e };
$cases{"substitute-deep"} = sub { (my $t = 'abc') =~ s/(b)/(my $u = $1) =~ s{b}{eval 'inner(1)'}eer/ee };
$cases{"pattern-code"} = sub { 'abc' =~ /b(?{ inner(1) })/ };
$cases{"pattern-code-last"} = sub { use re 'eval'; my $p = 'b(?{ compares() })'; 'abc' =~ /$p/ };
$cases{"closure"} = sub { my $n = 3; my $f = sub { my $m = shift; sub { inner($n + $m) } }; $f->(4)->() };
$cases{"goto"} = sub { jumps(1) };
sub jumps { goto &inner }
$cases{"autoload"} = sub { Auto->anything(5) };
package Auto { our $AUTOLOAD; sub AUTOLOAD { return if $AUTOLOAD =~ /DESTROY/; main::inner(@_) } }
package Base { sub new { bless {}, shift } sub go { main::inner(4) } } package Derived { our @ISA = 'Base'; sub go { my $s = shift; $s->SUPER::go(@_) } }
$cases{"method"} = sub { my $m = Derived->new->can('go'); Derived->new->$m(1) };
$cases{"map-grep"} = sub { my @l = grep { map { inner($_) } 1 } 2 };
$cases{"glob-alias"} = sub { no strict 'refs'; *{"Other::name"} = \&inner; Other::name(3) };
$cases{"local-sub"} = sub { no warnings; local *inner2 = sub { dies('anon') }; inner2() };
$cases{"lexical-sub"} = sub { eval 'use feature "lexical_subs"; no warnings; my sub hidden { inner(3) } hidden(); 1' };
$cases{"try"} = sub { eval 'use feature "try"; no warnings; sub tries { try { die "x" } catch ($e) { inner(4) } } 1' or skip(); tries() };
$cases{"try-inner"} = sub { eval 'use feature "try"; no warnings; sub tries2 { try { my @l = sort { try { inner(4) } catch ($f) { } } 1, 2; } catch ($e) { } } 1' or skip(); tries2() };
$cases{"defer"} = sub { eval 'use feature "defer"; no warnings; sub defers { defer { inner(4) } 1 } 1' or skip(); defers() };
$cases{"class"} = sub { eval 'use feature "class"; no warnings; class Point { field $x = 5; ADJUST { main::inner($x) } method go { 1 } } 1' or skip(); Point->new };
$cases{"class-method"} = sub { eval 'use feature "class"; no warnings; class Point2 { field $x = 5; method go { main::inner($x) } } 1' or skip(); Point2->new->go };
sub skip { open my $out, '>', 'said'; print $out "skip\n"; close $out; exit 0 }
$cases{"end"} = sub { eval 'END { inner(1) } 1'; exit 0 };
$cases{"via"} = sub { file('Layer.pm', 'package Layer; sub PUSHED { bless [], shift } sub WRITE { main::inner(3) } 1;'); require Layer; open my $f, '>:via(Layer)', 'out' or die $!; print $f "x"; close $f };
$cases{"lvalue"} = sub { lv(1) = 5 };
our $lv; sub lv : lvalue { inner(@_); $lv }
$cases{"deep-mix"} = sub { eval { tie my $t, 'Mixed'; my @l = sort { my $x = "$t"; 1 } 1, 2; 1 } };
package Mixed { sub TIESCALAR { bless [], shift } sub FETCH { eval { my $x = Over2->new + 1 } } } package Over2 { use overload '+' => sub { my $o = Gone->new('z'); eval q{undef $o} }; sub new { bless {}, shift } }
$cases{"thread"} = sub { eval { require threads } or skip(); my $t = threads->create(sub { our $cloned = 1; worker(5) }); $t->join };
sub worker { my $n = shift; my @l = map { eval { inner($n) } } 1 }
$cases{"thread-named"} = sub { eval { require threads } or skip(); our $cloned = 0; threads->create('works', 7)->join };
sub works { our $cloned = 1; my @l = sort { worker($_[0]) } 1, 2 }
$cases{"thread-main"} = sub { eval { require threads } or skip(); my @t = map { threads->create(sub { sleep 100 }) } 1 .. 3; select undef, undef, undef, 0.2; inner(4) };
$cases{"names"} = sub { package Some::Very::Long; sub f { main::inner(@_) } f(3) };
$cases{"anon-name"} = sub { my $s = sub { local *__ANON__ = 'named'; main::inner(1) }; $s->() };
$cases{"deleted-package"} = sub { eval 'package Temp; sub t { main::inner(1) } 1'; my $c = \&Temp::t; undef %Temp::; $c->() };
$cases{"redefined"} = sub { no warnings; sub again { eval 'sub again { 1 }'; inner(2) } again() };

if (@ARGV) {
	($case, $how) = @ARGV;
	require POSIX if $how eq 'posix';
	require B if $how eq 'xs';
	$cases{$case}->();
}
