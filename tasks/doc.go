// Package tasks describes what a program schedules: threads, goroutines, coroutines,
// asynchronous tasks; what each of them waits for, and who could end its wait.
//
// A Runtime lists the tasks of one scheduler: the kernel's threads, Go's goroutines. It gives
// the registers at which a task's walk begins; the same Walker and steppers go on
// from there. A program adds a Runtime of its own with a Finder.
//
// A Graph takes tasks and says who waits for whom: deadlocks, the longest chains, and the
// objects that most tasks wait for. It reads no process, and knows no runtime.
package tasks
