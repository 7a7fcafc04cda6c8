// Package php finds PHP in a process: the functions that its virtual machine runs, in the native stack, with files, lines, arguments
// and variables; exceptions, fibers, the request.
//
// Offsets come from layouts.txt, which testdata/layouts.sh makes of the headers of each version. Nothing is believed before it has
// been checked: a string ends with a zero byte, an instruction lies in its function, a module of PHP says its version.
package php
