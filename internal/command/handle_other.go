//go:build !linux

package command

import "errors"

// handleCrash reports whether the kernel gave the arguments: never.
func (e env) handleCrash([]string) (status int, ok bool) { return 0, false }

func (f *handleFlags) run(e env) int {
	return e.fail(errors.New("handle: only Linux starts a program when a process dies"))
}
