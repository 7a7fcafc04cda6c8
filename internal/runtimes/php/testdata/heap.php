<?php
// Makes objects, says how many there are and how much PHP counts, and dies.
class Point { public $x; public $y; public $label; function __construct($x, $y) { $this->x = $x; $this->y = $y; $this->label = "the label of the point with number $x"; } }
class Pair { public $left; public $right; }
$cache = [];
for ($i = 0; $i < 5000; $i++) $cache[] = new Point($i, 2 * $i);
$table = [];
for ($i = 0; $i < 3000; $i++) $table["the key with the number $i"] = [$i, $i + 1, "x" . $i];
$pairs = [];
for ($i = 0; $i < 700; $i++) { $p = new Pair; $p->left = $p; $pairs[] = $p; }
$large = str_repeat("x", 5 << 20);
$page = str_repeat("y", 10000);
$freed = []; for ($i = 0; $i < 1000; $i++) $freed[] = str_repeat("z", 100 + $i); 
for ($i = 0; $i < 1000; $i += 2) unset($freed[$i]);
function hold($many) {
  $own = new ArrayObject([1,2,3]);
  file_put_contents("log", memory_get_usage() . "\n");
  exec("kill -ABRT " . getmypid() . "");
}
hold(array_map(fn($i) => new DateTime("2020-01-01"), range(1, 50)));
