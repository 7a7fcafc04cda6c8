//go:build unix

package triage

import (
	"os/exec"
	"syscall"
)

// ownGroup protects a process from the terminal's Ctrl-C.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
