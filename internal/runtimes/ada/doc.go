// Package ada finds the tasks of Ada in a process, as GNAT's run-time library keeps them: threads have the names of their tasks, and what these wait for.
//
// The library has a list of its tasks for debuggers. What is in a task is found from the thread that it says to be: no table of versions is needed.
package ada
