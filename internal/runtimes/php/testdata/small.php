<?php
// Calls of most kinds, with values of all kinds, and dies.
class Shop {
	public $rate = 7;
	protected $names = ['a' => 'x', 'b' => null, 5 => 1.5];
	private ?Shop $self = null;
	static function open() { return new static; }
	function pay(array $list, ...$more) {
		$this->self = $this;
		$this->later = 'dynamic';
		return array_map(function ($n) use ($list) {
			usort($list, function ($a, $b) { return deep(2, $b > $a); });
			return $n;
		}, $list);
	}
}
function deep($n, $flag) {
	$ref = &$n;
	if ($n > 0) {
		return deep($n - 1, !$flag);
	}
	$long = str_repeat('long', 100);
	$many = range(1, 300);
	$float = -0.25;
	$file = STDERR;
	$nested = [[[[[1]]]]];
	$text = "line\none\ttab";
	@trigger_error('odd value', E_USER_WARNING);
	try {
		throw new LogicException('none left', 3, new InvalidArgumentException('inner'));
	} catch (LogicException $e) {
		exec('kill -ABRT ' . getmypid());
	}
}
function numbers($shop) {
	yield 1;
	yield from $shop->pay([3, 1, 2], 'more', 4);
}
if (PHP_VERSION_ID >= 80100) {
	eval('enum Suit: string { case Hearts = "H"; }');
	$suit = eval('return Suit::Hearts;');
	$waits = new Fiber(function ($n) { $inner = $n + 1; Fiber::suspend($inner); });
	$waits->start(41);
}
foreach (numbers(Shop::open()) as $i => $value) {
}
