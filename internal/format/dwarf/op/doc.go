// Package op evaluates and prints DWARF expressions and location descriptions
// (DWARF 5, section 2.5 and 2.6, https://dwarfstd.org/dwarf5std.html) and the
// GNU extensions that came before them or were never standardised.
//
// It knows registers and memory. What needs other debug information (base
// types, other DIEs, the address pool, entry values, thread-local storage)
// comes through a Resolver, which call frame information does without.
//
// A Machine holds the evaluation's stack and is meant to be reused: evaluating
// allocates nothing, except for errors and the first composite location. It
// must not be used by two goroutines at once; everything else here may be.
package op
