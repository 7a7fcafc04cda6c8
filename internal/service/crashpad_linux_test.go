package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// crashpad is where Debian's Chromium has the handler of its crashes.
const crashpad = "/usr/lib/chromium/chrome_crashpad_handler"

// TestCrashpadHandler has Chromium crash, and the handler of Crashpad that made the dump send it.
func TestCrashpadHandler(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	if _, err := os.Stat(crashpad); err != nil {
		t.Skip("Debian's chromium is not installed: no crash is sent by Crashpad's handler")
	}
	home := t.TempDir()
	database := filepath.Join(home, "chromium/Crash Reports")
	pending := crashChromium(t, home, database)

	w := start(t, nil)
	before, err := os.ReadFile(pending)
	if err != nil {
		t.Fatal(err)
	}
	// The user agreed: a bit in the handler's settings, after their magic number and version.
	settings := filepath.Join(database, "settings.dat")
	b, err := os.ReadFile(settings)
	if err != nil || len(b) != 40 {
		t.Fatal(len(b), err)
	}
	b[8] |= 1
	if err := os.WriteFile(settings, b, 0o600); err != nil {
		t.Fatal(err)
	}
	handle(t, database, w.url+"/api/a/minidump?token="+w.token["a upload"])
	sum := sha256.Sum256(before)
	d := w.analysed(hex.EncodeToString(sum[:])[:32])
	if d.Annotations["prod"] != "Chrome_Linux" || d.Annotations["ptype"] != "browser" || d.Name != filepath.Base(pending) {
		t.Errorf("%+v", d)
	}
	meta, err := os.ReadFile(filepath.Join(database, "completed", strings.TrimSuffix(filepath.Base(pending), ".dmp")+".meta"))
	if err != nil || !bytes.Contains(meta, []byte(d.ID)) {
		t.Errorf("the handler does not remember the dump as %s: %q, %v", d.ID, meta, err)
	}
}

// crashChromium returns the dump of a Chromium that was killed.
func crashChromium(t *testing.T, home, database string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(crashpad), "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--enable-crash-reporter", "--user-data-dir="+filepath.Join(home, "profile"), "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var found []string
	for range 600 {
		// Its handler has made the settings once it is there. Until it is attached the signal makes no dump, and ends the browser.
		if _, err := os.Stat(filepath.Join(database, "settings.dat")); err == nil {
			if found, _ = filepath.Glob(filepath.Join(database, "pending/*.dmp")); len(found) > 0 {
				return found[0]
			}
			cmd.Process.Signal(syscall.SIGSEGV)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("Chromium's crash left no dump")
	return ""
}

// handle runs the handler until it has sent what waits in its database.
func handle(t *testing.T, database, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.SetsockoptInt(pair[1], syscall.SOL_SOCKET, syscall.SO_PASSCRED, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, its := os.NewFile(uintptr(pair[0]), "client"), os.NewFile(uintptr(pair[1]), "handler")
	defer ours.Close()
	cmd := exec.CommandContext(ctx, crashpad, "--no-rate-limit", "--database="+database, "--url="+url, "--initial-client-fd=3", "--shared-client-connection")
	cmd.ExtraFiles = append(cmd.ExtraFiles, its)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Start()
	its.Close()
	if err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil {
		if left, _ := filepath.Glob(filepath.Join(database, "pending/*.dmp")); len(left) == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	ours.Close() // without clients it ends
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.Bytes())
	}
}
