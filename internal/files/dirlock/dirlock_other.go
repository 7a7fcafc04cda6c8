//go:build !unix

package dirlock

// Take does nothing: there are no such locks.
func Take(string) (giveBack func(), err error) { return func() {}, nil }

// Taken reports whether somebody may have the lock of a directory: one may.
func Taken(string) bool { return true }
