# Of the output of "go test -v" that passed: the packages, the tests that took long, why tests were skipped, and how many.
/^=== (RUN|CONT|NAME) / { test = $3 }
/^ok / { print }
/^--- PASS/ && match($0, /\([0-9.]+s\)$/) && substr($0, RSTART + 1) + 0 >= 5 { print }
/^ *--- PASS/ { passed++ }
/^ +[a-z0-9_]+\.go:[0-9]+: / { why[test] = $0; sub(/^ +[a-z0-9_]+\.go:[0-9]+: /, "", why[test]) }
/^ *--- SKIP/ {
  skipped++
  if (why[$3] ~ /^takes long/) long++
  else if (why[$3] ~ /^needs programs of this machine/) tools++
  else reasons[why[$3]]++
  if (why[$3] ~ /not installed|make deps/) absent++
  delete why[$3]
}
END {
  for (reason in reasons) printf "skipped %d: %s\n", reasons[reason], reason | "sort -k3"
  close("sort -k3")
  printf "%d tests passed, %d were skipped", passed, skipped
  if (absent) printf "; %d need what is not installed (make deps)", absent
  if (tools) printf "; %d need compilers, debuggers or servers (make deps, make test-tools)", tools
  if (long) printf "; %d take long (make test-long)", long
  print ""
}
