// Package types has the types of a program, as DWARF and PDBs describe them: what they are
// called, how large they are, and what their members are. Both kinds of debugging information
// become the same Types; where a type is only declared, its definition is looked for in the
// other units and in the other libraries of the process.
package types
