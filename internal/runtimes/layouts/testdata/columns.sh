#!/bin/sh
# Writes the table that package layouts reads, of files with lines "record.field number" in this directory, each of which is a column: columns.sh FILE ...
echo "field $*"
awk 'FNR == 1 { n++ } !($1 in seen) { seen[$1] = 1; order[++c] = $1 } { v[n, $1] = $2 }
	END { for (i = 1; i <= c; i++) { l = order[i]; for (k = 1; k <= n; k++) l = l " " ((k, order[i]) in v ? v[k, order[i]] : "-"); print l } }' "$@"
