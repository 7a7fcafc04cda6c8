//go:build !unix

package command

// lockDir would keep a second service from a directory.
func lockDir(string) (unlock func(), err error) { return func() {}, nil }

// locked would say whether a service uses a directory: one may.
func locked(string) bool { return true }
