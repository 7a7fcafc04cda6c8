// Package sqlite is the sqldb.Conn of an SQLite database, on the systems that the engine knows.
package sqlite

// Codes of errors that SQLite returns, without what extends them.
const (
	corrupt     = 11
	full        = 13 // there is no room on the disk
	notDatabase = 26
)
