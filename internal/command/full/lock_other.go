//go:build !unix

package full

// lockDir would keep a second service from a directory.
func lockDir(string) (unlock func(), err error) { return func() {}, nil }
