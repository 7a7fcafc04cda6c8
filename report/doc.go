// Package report holds what an analysis found as plain structs, and renders it
// as JSON and as text.
//
// JSON is the contract with other programs: "schema" is "corewalk/1", addresses
// are strings of the form "0x...", keys may be added and are never renamed.
// Everything the text shows is in the JSON.
//
// Names, paths, command lines and values come from the dump and are hostile:
// text shows control characters, terminal escapes, direction marks and invalid
// UTF-8 as backslash escapes and shortens what is very long; JSON keeps strings
// whole, except that invalid UTF-8 becomes U+FFFD.
//
// The package depends on no other room. Renderers read a report without changing
// it, so one report may be rendered by several goroutines at a time.
package report
