// Package beam finds the virtual machine of Erlang in a process: the functions that its schedulers run, in the native stack, with files, lines and values, and
// Erlang's processes as tasks, with their states, stacks and what they wait for.
//
// Offsets come from layouts.txt, which testdata/layouts.sh makes of the sources of each release. Nothing is believed before it has been checked: a process
// is in the table at the place that its number says, a scheduler has its number, code is in the module that has its function, an atom is where its number says.
package beam
