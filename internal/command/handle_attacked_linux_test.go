package command

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/livestate"
)

// attackAs says what a process of another user does that is about to be handled: "KIND DIRECTORY VICTIM".
const attackAs = "COREWALK_TEST_ATTACK"

// secretText is in files that the process cannot read.
const secretText = "only root may read this 5f1d"

// attacks are what the process does before it says that it is ready; in loops, what it goes on with.
var attacks = map[string]func(dir, victim string) (loop func()){
	"names": func(dir, _ string) func() {
		_ = os.WriteFile("/proc/self/comm", []byte("\x1b[2J\n../\u202e"), 0)
		_ = os.Mkdir(filepath.Join(dir, "\n2026 root: \x1b[31m\u202e"), 0o700)
		_ = os.Chdir(filepath.Join(dir, "\n2026 root: \x1b[31m\u202e"))
		return nil
	},
	"gone": func(dir, _ string) func() { // the program and the working directory are removed, and others are in their place
		self, _ := os.Executable()
		at := filepath.Join(dir, "at")
		_ = os.Mkdir(at, 0o700)
		_ = os.Chdir(at)
		_ = os.Remove(at)
		_ = os.Symlink("/etc/shadow", at)
		_ = os.Remove(self)
		_ = os.Symlink("/etc/shadow", self)
		return nil
	},
	"identifiers": func(dir, _ string) func() { // that are short, long, and have bytes that mean something in paths
		for i, id := range []string{"\x01", "../../../../tmp/x", strings.Repeat("\xff", 3000), "\x00\x00", ".", strings.Repeat("/", 20)} {
			mapAll(filepath.Join(dir, fmt.Sprint("lib", i)), attackLibrary([]byte(id)), 0)
		}
		return nil
	},
	"large": func(dir, _ string) func() { // files without an identifier that take no place here
		for i := range 12 {
			mapAll(filepath.Join(dir, fmt.Sprint("sparse", i)), attackLibrary(nil), 60<<20)
		}
		return nil
	},
	"led": func(dir, victim string) func() { // in namespaces of its own, the debug file of what it maps is a link to what only root reads
		mapAll(filepath.Join(dir, "lib"), attackLibrary([]byte("a library's own identifier")), 0)
		attackStep("tmpfs", unix.Mount("none", "/usr/lib/debug", "tmpfs", 0, ""))
		targets := []string{filepath.Join(victim, "secret"), "/proc/1/environ", "/proc/1/maps", "/proc/kcore", "/sys/kernel/profiling", "/proc/1/root" + filepath.Join(victim, "secret"), "/proc/self/mem", "/etc/shadow"}
		var paths []string
		for _, id := range ownIDs() {
			to := filepath.Join("/usr/lib/debug/.build-id", id[:2])
			path := filepath.Join(to, id[2:]+".debug")
			if os.MkdirAll(to, 0o755) == nil && os.Symlink(targets[0], path) == nil {
				paths = append(paths, path)
			}
		}
		return func() {
			n := rand.IntN(2 * len(targets))
			time.Sleep(50 * time.Millisecond)
			for _, path := range paths {
				_ = os.Remove(path)
				switch {
				case n == 2*len(targets)-1:
					_ = syscall.Mkfifo(path, 0o666)
				case n == 2*len(targets)-2:
					if f, err := os.Create(path); err == nil { // with a lease: who opens it waits
						_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
						time.Sleep(time.Millisecond)
						f.Close()
					}
				default:
					_ = os.Symlink(targets[max(0, n-len(targets))], path) // mostly the first
				}
			}
		}
	},
	"bound": func(dir, victim string) func() { // in namespaces of its own, what only root reads is itself at the path of the debug file: a mount needs no right to read
		mapAll(filepath.Join(dir, "lib"), attackLibrary([]byte("a library's own identifier")), 0)
		attackStep("tmpfs", unix.Mount("none", "/usr/lib/debug", "tmpfs", 0, ""))
		for _, id := range ownIDs() {
			to := filepath.Join("/usr/lib/debug/.build-id", id[:2])
			path := filepath.Join(to, id[2:]+".debug")
			_ = os.MkdirAll(to, 0o755)
			_ = os.WriteFile(path, nil, 0o644)
			attackStep("mount "+path, unix.Mount(filepath.Join(victim, "secret"), path, "", unix.MS_BIND, ""))
		}
		return nil
	},
	"jailed": func(dir, victim string) func() { // in a root directory of its own, with another outside and descriptors of what it cannot read: the links lead there
		mapAll(filepath.Join(dir, "lib"), attackLibrary([]byte("a library's own identifier")), 0)
		ids, jail := ownIDs(), filepath.Join(dir, "jail")
		attackStep("proc", os.MkdirAll(filepath.Join(jail, "proc"), 0o755))
		attackStep("mount proc", unix.Mount("/proc", filepath.Join(jail, "proc"), "", unix.MS_BIND|unix.MS_REC, ""))
		secret := filepath.Join(victim, "secret")
		file, err := unix.Open(secret, unix.O_PATH, 0) // no right to read is needed
		attackStep("secret", err)
		below, err := unix.Open(victim, unix.O_PATH|unix.O_DIRECTORY, 0)
		attackStep("victim", err)
		top, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
		attackStep("top", err)
		attackStep("chroot", unix.Chroot(jail))
		attackStep("chdir", unix.Fchdir(top)) // and the working directory stays outside
		targets := []string{fmt.Sprint("/proc/self/fd/", file), fmt.Sprintf("/proc/self/fd/%d/secret", below), "/proc/self/cwd" + secret, "/proc/1/root" + secret,
			strings.Repeat("../", 20) + secret, secret, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file), fmt.Sprintf("/proc/%d/cwd%s", os.Getpid(), secret)}
		var paths []string
		for _, id := range ids {
			to := filepath.Join("/usr/lib/debug/.build-id", id[:2])
			attackStep("mkdir", os.MkdirAll(to, 0o755))
			paths = append(paths, filepath.Join(to, id[2:]+".debug"))
		}
		n := 0
		next := func() {
			n++
			for i, path := range paths {
				_ = os.Remove(path)
				_ = os.Symlink(targets[(n+i)%len(targets)], path)
			}
		}
		next()
		return func() {
			time.Sleep(50 * time.Millisecond)
			next()
		}
	},
	"unreadable": func(string, string) func() { return nil }, // a program that it may run, and not read
	"busy": func(dir, _ string) func() { // its memory, threads, names, mappings and files change while it is read
		block, err := syscall.Mmap(-1, 0, 4<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return nil
		}
		n := 0
		return func() {
			n++
			for range 1000 {
				block[rand.IntN(len(block))] = byte(n)
			}
			more, _ := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
			mapAll(filepath.Join(dir, fmt.Sprint("lib", n%5)), attackLibrary([]byte(fmt.Sprint("id", n%7))), int64(n%3)<<20)
			_ = os.WriteFile("/proc/self/comm", fmt.Append(nil, "\n", n), 0)
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(n%2), 0, 0, 0)
			if more != nil {
				_ = syscall.Munmap(more)
			}
		}
	},
}

// attackStep ends the process that attacks if a step fails.
func attackStep(step string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, step, err)
		os.Exit(1)
	}
}

// attackLibrary is a library of one segment with an identifier, if there is one.
func attackLibrary(id []byte) []byte {
	le := binary.LittleEndian
	progs := []elffile.Prog{{Type: elffile.PT_LOAD, Flags: 5, Filesz: 8192, Memsz: 8192, Align: 4096}}
	note := append(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 4), uint32(len(id))), 3), "GNU\x00"...)
	note = append(note, id...)
	if id != nil {
		progs = append(progs, elffile.Prog{Type: elffile.PT_NOTE, Flags: 4, Off: 512, Vaddr: 512, Filesz: uint64(len(note)), Memsz: uint64(len(note)), Align: 4})
	}
	b := corebuild.Header{Class: 64, Order: le, Type: elffile.ET_DYN, Machine: elffile.EM_X86_64, Progs: progs}.Bytes()
	b = append(append(b, make([]byte, 512-len(b))...), note...)
	return append(b, make([]byte, 8192-len(b))...)
}

// ownIDs are the build-ids of the files that this process has mapped.
func ownIDs() (list []string) {
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[5], "/") {
			continue
		}
		b, err := os.ReadFile(f[5])
		if err != nil {
			continue
		}
		if e, err := elffile.Parse(b); err == nil && len(e.BuildID()) > 2 {
			list = append(list, hex.EncodeToString(e.BuildID()))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// mapAll writes a file, makes it as long as is said, and maps its beginning.
func mapAll(path string, text []byte, size int64) {
	_ = os.WriteFile(path, text, 0o600)
	if size > 0 {
		_ = os.Truncate(path, size)
	}
	if f, err := os.Open(path); err == nil {
		_, _ = syscall.Mmap(int(f.Fd()), 0, (len(text)+4095)&^4095, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE)
		f.Close()
	}
}

// The process is this program, but runs no tests, which would be made ready for.
func init() {
	in := strings.Split(os.Getenv(attackAs), " ")
	if len(in) != 3 {
		return
	}
	loop := attacks[in[0]](in[1], in[2])
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("ready")
	for {
		if loop == nil {
			select {}
		}
		loop()
	}
}

// inNamespaces are the attacks that need to be root in namespaces of their own.
var inNamespaces = []string{"led", "bound", "jailed"}

// attacker starts that process as another user, and returns its number and what the kernel would write of it.
func attacker(t *testing.T, program, kind, dir, victim string) (pid int, core []byte, end func()) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env = "/", []string{attackAs + "=" + kind + " " + dir + " " + victim, "TMPDIR=/tmp", "HOME=/", "GOMAXPROCS=2"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyUser, Gid: nobodyUser}}
	if slices.Contains(inNamespaces, kind) {
		cmd.Path, cmd.Args = "/usr/bin/unshare", append([]string{"unshare", "-Urm", program}, cmd.Args[1:]...)
	}
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no program of another user: %v", err)
	}
	end = func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err != nil {
		end()
		t.Logf("%s: does not begin: %v", kind, err)
		return 0, nil, func() {}
	}
	p, err := livestate.Attach(cmd.Process.Pid)
	if err != nil {
		end()
		t.Skipf("this machine lets nobody look at processes: %v", err)
	}
	defer p.Close()
	f, err := os.CreateTemp(t.TempDir(), "core")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := livecore.Write(f, p, livecore.Options{}); err != nil {
		t.Logf("%s: no core: %v", kind, err)
	}
	if core, err = os.ReadFile(f.Name()); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, core, end
}

// TestHandleAttacked: root handles crashes of processes of another user, who does what that user can, before and while it is handled. Nothing is read that the user may not
// read, nothing is made or changed outside of the store, and time, memory and disk are bounded. With COREWALK_ATTACK=1h it goes on for so long.
func TestHandleAttacked(t *testing.T) {
	fixture.Long(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, whom somebody else misleads")
	}
	policy, store := policyFile(t, "user = nobody\nrate = 0\nparallel = 1\ndisk = 1GiB\nfiles_disk = 400MiB\nmemory = 1MiB\ndeadline = 5s\n")
	base := filepath.Dir(policy)
	victim := filepath.Join(base, "victim")
	if err := os.Mkdir(victim, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(victim, "secret"), []byte(secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	before := stateOf(t, victim)
	until := time.Now()
	if long, err := time.ParseDuration(os.Getenv("COREWALK_ATTACK")); err == nil {
		until = until.Add(long)
	}
	kinds := make([]string, 0, len(attacks))
	for kind := range attacks {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	handled, most, slowest, kept := 0, int64(0), time.Duration(0), map[string]int{}
	for round := 0; round == 0 || time.Now().Before(until); round++ {
		for _, kind := range kinds {
			dir := filepath.Join(base, fmt.Sprintf("work-%s-%d", kind, round))
			name := "program"
			if kind == "names" {
				name = "-rf --install\n\x1b[2J\u202e"
			}
			own := filepath.Join(dir, name)
			text, mode := text, fs.FileMode(0o755)
			if kind == "unreadable" {
				text, mode = unlike(t, text), 0o711
			}
			err := os.Mkdir(dir, 0o755)
			if err == nil {
				err = os.Chown(dir, nobodyUser, nobodyUser)
			}
			if err == nil {
				err = os.WriteFile(own, text, mode)
			}
			if err != nil {
				t.Fatal(err)
			}
			pid, core, end := attacker(t, own, kind, dir, victim)
			if pid == 0 {
				_ = os.RemoveAll(dir)
				continue
			}
			for range 3 {
				cmd := exec.Command("corewalk", "handle", "--policy", policy, strconv.Itoa(pid), strconv.Itoa(pid), "11", strconv.FormatInt(time.Now().Unix(), 10), "--install\n../x", "-rf", "\x1b[2J", "../../x")
				var said bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(core), &said, &said
				begun := time.Now()
				done := make(chan error, 1)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				go func() { done <- cmd.Wait() }()
				peak := int64(0)
				for ended := false; !ended; {
					select {
					case <-done:
						ended = true
					case <-time.After(3 * time.Millisecond):
						peak = max(peak, highest(cmd.Process.Pid))
						if time.Since(begun) > 2*time.Minute {
							_ = cmd.Process.Kill()
							t.Fatalf("%s: the handler does not end: %s", kind, &said)
						}
					}
				}
				most = max(most, peak)
				handled++
				slowest = max(slowest, time.Since(begun))
			}
			end()
			list, _ := records(t, store)
			kept[kind] = max(kept[kind], len(list))
			noSecret(t, kind, store)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		if after := stateOf(t, victim); after != before {
			t.Fatalf("was\n%s\nis\n%s", before, after)
		}
		if size := diskOf(store); size > 1700<<20 { // of disk and files_disk, and what is being written
			t.Fatalf("the store has %d MB", size>>20)
		}
	}
	log, _ := os.ReadFile(filepath.Join(store, "log"))
	if i := bytes.IndexFunc(log, func(r rune) bool { return r != '\n' && (r < ' ' || r == 0x202e) }); i >= 0 {
		t.Errorf("the log has %.200q", log[max(0, i-80):])
	}
	for line := range strings.Lines(string(log)) {
		if _, err := time.Parse(time.RFC3339, strings.SplitN(line, " ", 2)[0]); err != nil {
			t.Errorf("a line of the log is not its own: %.200q", line)
		}
	}
	list, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !slices.Contains([]string{"conf", "store", "victim"}, e.Name()) {
			t.Errorf("%s is beside the store", e.Name())
		}
	}
	t.Logf("%d crashes handled, kept so far %v; at most %v, report included, and %d MB each", handled, kept, slowest, most>>20)
	if most == 0 || most > 200<<20 {
		t.Errorf("a handler took %d MB", most>>20)
	}
}

// unlike is a program like another one, but with an identifier of its own, and with what only root may read at its end.
func unlike(t *testing.T, program []byte) []byte {
	t.Helper()
	e, err := elffile.Parse(program)
	if err != nil {
		t.Fatal(err)
	}
	b := bytes.Clone(program)
	if id := e.BuildID(); len(id) > 0 {
		b[bytes.Index(b, id)] ^= 0xff
	}
	return append(b, secretText...)
}

// highest is the most memory that a process has had, in bytes.
func highest(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	f := strings.Fields(after)
	if len(f) == 0 {
		return 0
	}
	kb, _ := strconv.ParseInt(f[0], 10, 64)
	return kb << 10
}

// noSecret fails if something in the store has what only root may read.
func noSecret(t *testing.T, kind, store string) {
	t.Helper()
	_ = filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "core" { // the process's own memory
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		b, _ := io.ReadAll(io.LimitReader(f, 1<<16))
		if _, err := f.Seek(-int64(len(secretText)), io.SeekEnd); err == nil {
			end, _ := io.ReadAll(f)
			b = append(b, end...)
		}
		if bytes.Contains(b, []byte(secretText)) || bytes.Contains(b, []byte("root:")) {
			t.Errorf("%s: %s has %.80q", kind, path, b)
		}
		return nil
	})
}

// diskOf is how much of the disk the files below a directory take, in bytes.
func diskOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if st, err := d.Info(); err == nil {
			if sys, ok := st.Sys().(*syscall.Stat_t); ok {
				n += sys.Blocks * 512
			}
		}
		return nil
	})
	return n
}
