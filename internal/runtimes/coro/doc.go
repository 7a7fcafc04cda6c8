// Package coro finds functions that are suspended without a stack: C++20 coroutines of GCC and
// Clang, and async functions of Rust. Their variables are in an object in memory.
//
// No list of them exists, but for the tasks of Rust's executors. The package follows what threads can reach: words of their stacks and
// registers and of the variables of modules with coroutines, and the objects that those point to. It
// believes that memory is a coroutine's frame only if it begins with the entries of the two functions
// of one coroutine, by their symbols: the one that resumes it, and the one that destroys it. Of Rust it believes
// a pair of a pointer and a vtable of futures, and a header of a task with a vtable of its executor, tokio or async-task,
// from which it walks the executor's list. Types in DWARF then tell the variables, the
// place at which the function is suspended, and what awaits it.
package coro
