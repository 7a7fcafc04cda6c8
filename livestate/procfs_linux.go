package livestate

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/corewalk/corewalk/libstate"
)

// The functions below read what proc(5) describes.

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// readProc reads a small file whole. Samples read two for each thread: os.ReadFile makes eleven system calls for one,
// most of them to find out that such a file cannot be waited for.
func readProc(path string) ([]byte, error) {
	fd, err := retried(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 512) // more than a thread's stat, comm or syscall has
	for {
		n, err := retried(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n <= 0 {
			return b, nil
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
	}
}

// retried makes a system call again that a signal interrupted.
func retried(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

// tasks lists the threads of a process.
func tasks(pid int) ([]int, error) {
	dir, err := os.Open(procPath(pid, "task"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, n := range names {
		if tid, err := strconv.Atoi(n); err == nil {
			out = append(out, tid)
		}
	}
	slices.Sort(out)
	if len(out) > 0 {
		err = nil
	}
	return out, err
}

// taskState returns the letter for a thread's state; 0 if the thread has ended.
func taskState(pid, tid int) byte {
	a, _ := activity(pid, tid)
	return a.State
}

// activity returns what a thread does; ok is false if the thread has ended.
func activity(pid, tid int) (a Activity, ok bool) {
	b, err := readProc(procPath(pid, "task/"+strconv.Itoa(tid)+"/stat"))
	if err != nil {
		return a, false
	}
	return parseActivity(b)
}

func deadTask(pid, tid int) bool {
	s := taskState(pid, tid)
	return s == 0 || s == 'Z' || s == 'X'
}

// A status has the fields of /proc/PID/status that matter here.
type status struct {
	ok       bool
	name     string
	state    byte
	tgid     int
	tracer   int // 0 if none
	uids     [4]int
	kernel   bool // a thread of the kernel
	sigBlk   uint64
	sigIgn   uint64
	sigCgt   uint64
	noMemory bool
}

func readStatus(pid int) status {
	b, err := readProc(procPath(pid, "status"))
	if err != nil {
		return status{}
	}
	s := status{ok: true, noMemory: true}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Name":
			s.name = value
		case "State":
			if value != "" {
				s.state = value[0]
			}
		case "Tgid":
			s.tgid, _ = strconv.Atoi(value)
		case "TracerPid":
			s.tracer, _ = strconv.Atoi(value)
		case "Uid":
			for i, f := range strings.Fields(value) {
				if i < len(s.uids) {
					s.uids[i], _ = strconv.Atoi(f)
				}
			}
		case "Kthread":
			s.kernel = value == "1"
		case "VmSize":
			s.noMemory = false
		case "SigBlk":
			s.sigBlk, _ = strconv.ParseUint(value, 16, 64)
		case "SigIgn":
			s.sigIgn, _ = strconv.ParseUint(value, 16, 64)
		case "SigCgt":
			s.sigCgt, _ = strconv.ParseUint(value, 16, 64)
		}
	}
	return s
}

// readMaps reads the mappings of a process. Those of files have a Path, which ends in "
// (deleted)" if the file was removed. The kernel's names of others ("[heap]",
// "[stack]") are left out, as in NT_FILE of a core.
func readMaps(pid int) ([]libstate.Mapping, error) {
	b, err := os.ReadFile(procPath(pid, "maps"))
	if err != nil {
		return nil, err
	}
	return parseMaps(b), nil
}

// maxMappings limits what is read of /proc/PID/maps: far above any setting of
// vm.max_map_count.
const maxMappings = 1 << 22

func parseMaps(b []byte) []libstate.Mapping {
	out := make([]libstate.Mapping, 0, bytes.Count(b, []byte{'\n'}))
	last := ""
	for len(b) > 0 && len(out) < maxMappings {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		m, path, ok := parseMapping(line)
		if !ok {
			continue
		}
		if string(path) != last {
			last = unescape(path)
		}
		m.Path = last
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b libstate.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// parseMapping parses one line: start-end perms offset device inode path.
func parseMapping(line []byte) (m libstate.Mapping, path []byte, ok bool) {
	field := func() []byte {
		line = bytes.TrimLeft(line, " ")
		var f []byte
		f, line, _ = bytes.Cut(line, []byte{' '})
		return f
	}
	lo, hi, found := bytes.Cut(field(), []byte{'-'})
	perms, off := field(), field()
	field() // device
	inode := field()
	var err [3]error
	m.Start, err[0] = strconv.ParseUint(string(lo), 16, 64)
	m.End, err[1] = strconv.ParseUint(string(hi), 16, 64)
	m.Offset, err[2] = strconv.ParseUint(string(off), 16, 64)
	if !found || err[0] != nil || err[1] != nil || err[2] != nil || m.End <= m.Start || len(perms) < 4 {
		return m, nil, false
	}
	for i, p := range []libstate.Perm{libstate.Read, libstate.Write, libstate.Exec} {
		if perms[i] != '-' {
			m.Perm |= p
		}
	}
	path = bytes.TrimLeft(line, " ")
	if len(path) == 0 || path[0] != '/' || string(inode) == "0" {
		m.Offset = 0 // meaningless for anonymous memory
		return m, nil, true
	}
	return m, path, true
}

// unescape undoes what seq_path does to newlines, the only characters that the kernel
// escapes in maps.
func unescape(path []byte) string { return strings.ReplaceAll(string(path), `\012`, "\n") }

// comm returns the name of a thread.
func comm(pid, tid int) string {
	b, err := readProc(procPath(pid, "task/"+strconv.Itoa(tid)+"/comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

// sleepingAt returns the stack pointer and the program counter of a thread that waits
// in the kernel: the last fields of /proc/PID/task/TID/syscall. It returns false if the
// thread is running.
func sleepingAt(pid, tid int) (sp, pc uint64, ok bool) {
	b, err := readProc(procPath(pid, "task/"+strconv.Itoa(tid)+"/syscall"))
	f := strings.Fields(string(b))
	if err != nil || len(f) < 3 {
		return 0, 0, false
	}
	sp, err1 := strconv.ParseUint(f[len(f)-2], 0, 64)
	pc, err2 := strconv.ParseUint(f[len(f)-1], 0, 64)
	return sp, pc, err1 == nil && err2 == nil && sp != 0
}
