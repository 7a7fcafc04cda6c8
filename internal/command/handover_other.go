//go:build !unix

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
)

// become runs another program and ends with its status. It returns only errors.
func become(path string, args, environ []string) error {
	signal.Ignore(os.Interrupt) // the other program gets it, too
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if err == nil || errors.As(err, new(*exec.ExitError)) {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return fmt.Errorf("%s cannot be started: %w", path, err)
}
