// Package perl finds Perl 5 in a process: the subs, evals and files that its interpreters run, in the native stack, with files, lines and variables, and the
// error for which a handler of errors runs.
//
// Offsets come from layouts.txt, which testdata/layouts.sh makes of the headers of each version. Nothing is believed before it has been checked: an interpreter
// says its version, a stack of contexts leads back to the one that it was entered from, a sub is code, a variable is named by the code that it belongs to.
package perl
