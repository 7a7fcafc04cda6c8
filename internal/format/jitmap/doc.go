// Package jitmap reads the records that compilers leave of the code that they make at run time, for profilers: the map files of
// perf (/tmp/perf-PID.map), which have lines of an address, a size and a name, and jitdump files (jit-PID.dump), which also have
// the code itself and its source lines.
//
// Code is moved and thrown away, and other code takes its place. So of records that overlap, the last written counts.
package jitmap
