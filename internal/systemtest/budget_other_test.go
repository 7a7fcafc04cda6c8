//go:build !linux

package systemtest

func instructions(f func()) (uint64, bool) { f(); return 0, false }
