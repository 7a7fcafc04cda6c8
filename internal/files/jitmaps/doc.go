// Package jitmaps finds the files in which compilers describe the code that they made in a process, for profilers (internal/format/jitmap), and names that
// code by them.
//
// Nothing in a map of perf says to which process it belongs but its name, and numbers of processes are used again. So a good part of
// what it names must be where the process has code. A jitdump file has the code itself: it must be what the process has there.
package jitmaps
