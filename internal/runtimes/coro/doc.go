// Package coro finds functions that are suspended without a stack: C++20 coroutines of GCC and
// Clang. Their variables are in a frame in memory, which begins with the addresses of two functions
// that resume and destroy it.
//
// No list of them exists. The package follows what threads can reach: words of their stacks and
// registers and of the variables of modules with coroutines, and the objects that those point to. It
// believes that memory is a frame only if both addresses are entries of the two functions of
// one coroutine, by their symbols. Types in DWARF then tell the variables, the place at which
// the coroutine is suspended, and the coroutine that awaits it.
package coro
