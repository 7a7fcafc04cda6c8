// Package sqlite opens SQLite databases, on the systems that the engine knows.
package sqlite

// Codes of errors that SQLite returns, without what extends them.
const (
	Corrupt     = 11
	Full        = 13 // there is no room on the disk
	NotDatabase = 26
)
