// Package report holds the result of an analysis as plain structs, and writes it as JSON and as text.
//
// JSON is the contract with other programs: "schema" is "corewalk/1" and addresses are strings of the form
// "0x...". Keys may be added and are never renamed. Everything the text shows is in the JSON.
//
// Names, paths, command lines and values come from the dump and are untrusted. The text shows control
// characters, terminal escapes, direction marks and invalid UTF-8 as backslash escapes, and shortens very long
// strings. JSON keeps strings whole, except that invalid UTF-8 becomes U+FFFD.
//
// The package imports no other package of the project. Writing a report does not change it, so several
// goroutines may write one report at the same time.
package report
