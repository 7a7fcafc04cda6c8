# Of the output of "go test -v": the tests that failed, what they said (40 lines of each), and their
# packages. It is printed last, where people look first.
function keep() { key = package SUBSEP test; if (lines[key]++ < 40) said[key] = said[key] $0 "\n" }
function fail(name) { if (!((package, name) in failed)) { failed[package, name]; order[++count] = package SUBSEP name } }
/^=== (RUN|CONT|NAME|PAUSE) / { test = $3; next }
/^ *--- FAIL: / { fail($3); next }
/^ *--- (PASS|SKIP): / { delete said[package, $3]; next }
/^(panic|fatal error): / { test = "panic " (++panics); fail(test) }
/^(FAIL|ok|\?)\t/ { if ($1 == "FAIL") print; package++; test = ""; next }
{ keep() }
END { for (i = 1; i <= count; i++) { split(order[i], part, SUBSEP); printf "--- FAIL: %s\n%s", part[2], said[order[i]] } }
