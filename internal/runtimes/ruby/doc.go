// Package ruby finds Ruby in a process: the methods, blocks and functions of C that its threads and fibers run, in the native stack, with files, lines and
// variables; exceptions, and who has which Mutex.
//
// Offsets come from layouts.txt, which testdata/layouts.sh makes of the sources of each version. Nothing is believed before it has been checked: an object
// says what it is, a frame lies on its stack, an instruction in its code, a thread leads to its virtual machine.
package ruby
