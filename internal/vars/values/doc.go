// Package values reads objects of a process as trees of Values, which print as the source
// language writes them. Containers, strings and smart pointers of the standard libraries are
// shown as what they mean: the files printer_*.go have the printers for libstdc++, libc++,
// Microsoft's C++ library, Go and Rust. Package dwarfvars says where an object is, and implements
// the Frame that values need; a Process has what they need of the process.
package values
