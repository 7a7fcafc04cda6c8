// Package op evaluates and formats DWARF expressions and location descriptions (DWARF 5,
// sections 2.5 and 2.6, https://dwarfstd.org/dwarf5std.html), including the GNU extensions
// that preceded them or were never standardised.
//
// It knows registers and memory. What needs other debug information (base types, other
// DIEs, the address pool, entry values, thread-local storage) comes from a Resolver, which
// call frame information does not need.
//
// A Machine has the evaluation stack and should be reused: evaluation allocates nothing,
// except for errors and the first composite location. A Machine must not be used by two
// goroutines at once; everything else here is safe for concurrent use.
package op
