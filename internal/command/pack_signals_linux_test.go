package command

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// packOfZeros writes a pack whose core has 4 GiB of zeros, which takes long to unpack and no space.
func packOfZeros(t *testing.T) string {
	t.Helper()
	const piece, times = 16 << 20, 256
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, piece))
	w.Flush()
	path := filepath.Join(t.TempDir(), "zeros.cwz")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := zip.NewWriter(out)
	core, err := z.CreateRaw(&zip.FileHeader{Name: "core", Method: zip.Deflate, CompressedSize64: uint64(packed.Len() * times), UncompressedSize64: piece * times})
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		core.Write(packed.Bytes())
	}
	manifest, err := z.Create("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	json.NewEncoder(manifest).Encode(map[string]any{"format": "corewalk-pack", "version": 1, "core": map[string]any{"path": "core", "size": piece * times}})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPackAndSignals: nothing is left of a pack that is being unpacked when a signal ends the command, or a limit; what a command that was
// killed left is removed by the next one, but not what another is using.
func TestPackAndSignals(t *testing.T) {
	t.Parallel()
	path, temp := packOfZeros(t), t.TempDir()
	command := filepath.Join(t.TempDir(), "corewalk") // TestMain makes this program the command
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, command); err != nil {
		t.Fatal(err)
	}
	unpacked := func() []string {
		list, _ := filepath.Glob(filepath.Join(temp, "*"))
		return list
	}
	limited := func() *exec.Cmd { // what it has unpacked by then, if anything, is not asked
		cmd := exec.Command(command, "--deadline=100ms", path)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		return cmd
	}
	start := func() *exec.Cmd {
		t.Helper()
		was := len(unpacked())
		cmd := exec.Command(command, path)
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nothing is unpacked")
			}
			if cores, _ := filepath.Glob(filepath.Join(temp, "corewalk-pack-*", "core")); len(cores) > was {
				break
			}
		}
		return cmd
	}
	// ended waits for the end, and says what ended the command: a signal, or 0.
	ended := func(cmd *exec.Cmd) syscall.Signal {
		t.Helper()
		began := time.Now()
		cmd.Wait()
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("it went on for %v", d)
		}
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
			return s.Signal()
		}
		return 0
	}
	for sent, by := range map[syscall.Signal]syscall.Signal{syscall.SIGINT: 0, syscall.SIGTERM: syscall.SIGTERM, syscall.SIGHUP: syscall.SIGHUP} {
		if signal.Ignored(sent) { // as under nohup, and then by the command, too
			continue
		}
		cmd := start()
		cmd.Process.Signal(sent)
		if got := ended(cmd); got != by {
			t.Errorf("%v: it ended by %v, want %v", sent, got, by)
		}
		if list := unpacked(); len(list) != 0 {
			t.Fatalf("%v: %v is left", sent, list)
		}
	}
	cmd := limited()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := ended(cmd); got != 0 || len(unpacked()) != 0 {
		t.Errorf("a limit: ended by %v, %v is left", got, unpacked())
	}
	other := start()
	killed := start()
	killed.Process.Kill()
	if got := ended(killed); got != syscall.SIGKILL || len(unpacked()) != 2 {
		t.Fatalf("%v; %v", got, unpacked())
	}
	limited().Run()
	if list := unpacked(); len(list) != 1 {
		t.Errorf("%v is left, want what another uses", list)
	}
	other.Process.Signal(syscall.SIGINT)
	if ended(other); len(unpacked()) != 0 {
		t.Errorf("%v is left", unpacked())
	}
}
