<?php
// Says what its stack is, as debug_backtrace has it, into the file "said", and dies. The first argument is the case.

function dies() {
	$calls = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
	$said = '';
	$place = null; // where the function before was called
	foreach ($calls as $i => $c) {
		$said .= name($c) . ($i == 0 ? " *" : $place) . "\n";
		$place = isset($c['file']) ? " {$c['file']}:{$c['line']}" : '';
	}
	if ($place) { // else it has ended, or was left by an exception
		$said .= "{main}$place\n";
	}
	file_put_contents('said', $said);
	posix_kill(posix_getpid(), 6);
}

function name($c) {
	$class = isset($c['class']) ? explode("\0", $c['class'])[0] . $c['type'] : '';
	return $class . $c['function'];
}

class Shop {
	public static $made = 0;
	private $then;
	function __construct($then) { $this->then = $then; }
	function __call($name, $args) { ($this->then)(); }
	static function __callStatic($name, $args) { $args[0](); }
	function __destruct() { if ($this->then) { $t = $this->then; $this->then = null; $t(); } }
	function __get($name) { ($this->then)(); }
	function __toString() { ($this->then)(); return ''; }
	function deep() {
		return array_map(function ($v) {
			$list = [2, 1];
			usort($list, function ($a, $b) {
				return preg_replace_callback('/x/', function ($m) { dies(); }, 'axb') <=> 1;
			});
			return $v;
		}, [1, 2]);
	}
}

trait Loud { function shout() { self::inner(); } static function inner() { dies(); } }
class Person { use Loud; }
class Aliased { use Loud { shout as Yell; inner as protected Whisper; } function run() { $this->Yell(); } function quietly() { self::Whisper(); } }
class Heir extends Aliased { }
abstract class Base { function run() { $this->step(); } abstract function step(); }

function recurse($n) {
	if ($n == 0) {
		dies();
	}
	return recurse($n - 1) + 1;
}
function through($n) {
	if ($n == 0) {
		dies();
	}
	return array_map(function ($n) { return through($n); }, [$n - 1]);
}
function inner() { yield 1; dies(); yield 2; }
function middle() { yield 0; yield from inner(); }
function outer() { yield from middle(); }
function numbers() { foreach (outer() as $v) { yield $v; } }

class Walk implements IteratorAggregate {
	#[ReturnTypeWillChange]
	function getIterator() { dies(); return new ArrayIterator([]); }
}
class Bag implements ArrayAccess, Countable {
	#[ReturnTypeWillChange]
	function offsetGet($k) { dies(); }
	#[ReturnTypeWillChange]
	function offsetSet($k, $v) {}
	#[ReturnTypeWillChange]
	function offsetExists($k) { return true; }
	#[ReturnTypeWillChange]
	function offsetUnset($k) {}
	#[ReturnTypeWillChange]
	function count() { dies(); return 1; }
}

function thrower() { throw new RuntimeException('none left'); }

switch ($argv[1]) {
case 'callbacks':
	(new Shop(null))->deep();
	break;
case 'recursion':
	recurse(900);
	break;
case 'through':
	through(120);
	break;
case 'generators':
	foreach (numbers() as $v) {
	}
	break;
case 'closures':
	$f = function () { (fn() => dies())(); };
	call_user_func_array($f, []);
	break;
case 'bound':
	Closure::bind(function () { $this->then = null; $list = [[1]]; array_walk_recursive($list, 'dies'); }, new Shop(null), Shop::class)->__invoke();
	break;
case 'include':
	include __DIR__ . '/included.php';
	break;
case 'require':
	require_once __DIR__ . '/included.php';
	break;
case 'eval':
	eval("function made() {\n array_map('dies', [1]);\n}\nmade();");
	break;
case 'call':
	(new Shop('dies'))->anything(1);
	break;
case 'static':
	Shop::anything('dies');
	break;
case 'destructor':
	$s = new Shop('dies');
	$s = null;
	break;
case 'magic':
	$s = new Shop('dies');
	$x = $s->missing;
	break;
case 'string':
	$x = 'a' . new Shop('dies');
	break;
case 'implode':
	$x = implode(',', [new Shop('dies'), 1]);
	break;
case 'anonymous':
	(new class extends Base { function step() { dies(); } })->run();
	break;
case 'trait':
	(new Person)->shout();
	break;
case 'alias':
	(new Heir)->run();
	break;
case 'whisper':
	(new Aliased)->quietly();
	break;
case 'iterator':
	foreach (new Walk as $x) {
	}
	break;
case 'offset':
	$b = new Bag;
	$x = $b['k'];
	break;
case 'count':
	$x = count(new Bag);
	break;
case 'collector':
	$a = new Shop('dies');
	$a->self = $a;
	unset($a);
	gc_collect_cycles();
	break;
case 'shutdown':
	register_shutdown_function(function () { dies(); });
	break;
case 'handler':
	set_exception_handler(function ($e) { dies(); });
	thrower();
	break;
case 'caught':
	try {
		thrower();
	} catch (RuntimeException $e) {
		dies();
	} finally {
		$x = 1;
	}
	break;
case 'finally':
	function ends() {
		try {
			thrower();
		} finally {
			dies();
		}
	}
	ends();
	break;
case 'unwinding':
	function holds() {
		$s = new Shop('dies');
		thrower();
	}
	holds();
	break;
case 'error':
	set_error_handler(function () { dies(); });
	echo $undefined;
	break;
case 'autoload':
	spl_autoload_register(function ($class) { dies(); });
	new Missing();
	break;
case 'sort':
	$list = [3, 1, 2];
	uasort($list, function ($a, $b) { dies(); });
	break;
case 'reflection':
	(new ReflectionFunction('recurse'))->invoke(3);
	break;
case 'spl':
	iterator_apply($it = new ArrayIterator([1, 2]), function () { recurse(2); });
	break;
case 'buffer':
	ob_start(function ($s) { dies(); return $s; });
	echo 'x';
	ob_end_flush();
	break;
case 'fiber':
	function sub($n) { $n ? sub($n - 1) : array_map('dies', [1]); }
	$f = new Fiber(function ($n) { Fiber::suspend(1); sub($n); });
	$f->start(3);
	$f->resume();
	break;
case 'fibers':
	$f = new Fiber(function () {
		$g = new Fiber(function () { foreach (numbers() as $v) { } });
		$g->start();
	});
	$f->start();
	break;
case 'first-class':
	$f = dies(...);
	$f();
	break;
}
