//go:build unix

package command

import (
	"fmt"
	"syscall"
)

// become runs another program in this process. It returns only errors.
func become(path string, args, environ []string) error {
	return fmt.Errorf("%s cannot be started: %w", path, syscall.Exec(path, append([]string{path}, args...), environ))
}
