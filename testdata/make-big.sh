#!/usr/bin/env bash
# Makes a C++ program with about 700 MB of DWARF and its core, for benchmarks:
#   testdata/make-big.sh DIR [UNITS]
# Needs g++ with its standard library, half an hour of processor time, 2 GB of disk
# space, and cores written to the working directory (kernel.core_pattern=core).
set -euo pipefail
dir=${1:?a directory is wanted}
units=${2:-130}
src=$(cd "$(dirname "$0")/src/big" && pwd)
mkdir -p "$dir"
cd "$dir"
for n in $(seq 0 $((units - 1))); do
  [ -f "unit$n.o" ] || g++ -g -O0 -gdwarf-5 -gz=none -DN="$n" -c "$src/unit.cpp" -o "unit$n.o"
done
g++ -g -O0 -gdwarf-5 -gz=none "$src/main.cpp" unit*.o -o w4 -pthread
ulimit -c unlimited
rm -f core core.*
./w4 || true
[ -f core ] || mv core.* core
rm -f unit*.o
