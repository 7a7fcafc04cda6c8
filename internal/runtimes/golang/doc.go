// Package golang lists the goroutines of a process: as the runtime prints them at a panic, and
// what each one waits for.
//
// The runtime's variables (runtime.allgptr and the like) say where its structures are. Where
// their fields are, debugging information says, else a table by version of Go
// (layouts.txt, made by ./layouts from the real runtimes). Nothing is believed before
// memory agrees: a goroutine's id must be plausible, its stack mapped, its saved stack pointer in it.
//
// The runtime's source is the specification: runtime2.go, proc.go, traceback.go, chan.go, sema.go.
package golang
