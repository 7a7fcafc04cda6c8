//go:build unix

package triage

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a terminal's Ctrl-C from a process.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
