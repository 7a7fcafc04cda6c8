// Package values reads objects of a process as trees of Values, which print as the source
// language writes them. What stands in the memory of a container, a string or a pointer of a
// standard library is shown as what it means: printer_*.go have a printer for each type of
// libstdc++, libc++, Microsoft's library, and of Go's and Rust's.
//
// Where an object is comes from the caller (package dwarfvars); of the frame that it is in
// values need a Frame, of the process a Process.
package values
