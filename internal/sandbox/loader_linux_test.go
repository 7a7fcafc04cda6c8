//go:build amd64 || arm64 || 386

package sandbox

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLoader: a program that is linked dynamically starts in the sandbox, with the loader that its file names and no
// other.
func TestLoader(t *testing.T) {
	if abi() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	loader := interpreter(shell)
	if loader == "" {
		t.Skip("/bin/sh is linked statically here")
	}
	libraries := Policy{Read: []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"}}
	if err := run(libraries, exec.Command(shell, "-c", "exit 0")); err != nil {
		t.Errorf("%s, whose loader is %s: %v", shell, loader, err)
	}
	if err := run(libraries, exec.Command(shell, "-c", "/bin/true")); err == nil {
		t.Error("the confined program started another one")
	}
	if got := interpreter("/dev/null"); got != "" {
		t.Errorf("/dev/null has the loader %q", got)
	}
}

func run(p Policy, cmd *exec.Cmd) error {
	if err := Start(cmd, p); err != nil {
		return err
	}
	return cmd.Wait()
}
