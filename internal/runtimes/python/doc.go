// Package python finds the CPython interpreter in a process: the Python calls that its native frames execute, with
// lines, arguments and local variables; exceptions; the holder of the interpreter's lock.
//
// Offsets come from _Py_DebugOffsets, which CPython 3.13 and later have in their memory, or from layouts.txt, which
// testdata/layouts.sh makes of the headers of each release. Nothing is believed before prove has checked it against
// the process's memory.
package python
