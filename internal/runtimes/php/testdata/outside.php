<?php
// Runs until somebody ends it, or until its stack is full.
function work($n) {
    for ($all = [];; $all = []) {
        foreach (range(1, $n) as $i) $all[] = str_repeat("x", $i);
        sort($all);
    }
}

function deep($n) {
    return array_map("deep", [$n + 1]);
}

if ($argv[1] === "deep") deep(1);
shell_exec("(sleep 0.3; kill -" . $argv[1] . " " . getmypid() . ") >/dev/null 2>&1 &");
work(200);
