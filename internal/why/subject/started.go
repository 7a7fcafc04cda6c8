package subject

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/why/process"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Start is how a process was started, nothing of it masked.
type Start struct {
	report.Process
	Env []string // NAME=VALUE
}

// Report returns what goes into a report: with the environment if env is set, and with
// secrets if all is. It returns nil if nothing is known.
func (s Start) Report(env, all bool) *report.Process {
	p := s.Process
	if !all {
		p.Arguments = process.MaskArguments(p.Arguments, p.ArgumentsCut)
	}
	if env {
		for _, e := range s.Env {
			name, value, _ := strings.Cut(e, "=")
			v := report.EnvironmentVariable{Name: name, Value: value}
			if masked := process.Mask(name, value); !all && masked != value {
				v.Value, v.Masked = masked, true
			}
			p.Environment = append(p.Environment, v)
		}
	}
	if p.Executable == "" && p.Arguments == nil && p.UID == nil && p.GID == nil && p.Parent == 0 && p.Host == "" && p.Container == "" && p.Started.IsZero() && p.Environment == nil {
		return nil
	}
	return &p
}

// stack is what the first stack is read with.
type stack interface {
	arch.Memory
	Arch() *arch.Arch
	Auxv() libstate.Auxv
}

// readStack adds the arguments and the environment on the process's first stack.
func (s *Start) readStack(p stack) {
	if p.Arch() == nil {
		return
	}
	auxv := p.Auxv()
	if id, ok := auxv.Get(libstate.ATUID); ok && s.UID == nil {
		uid := int(uint32(id))
		s.UID = &uid
	}
	args, env, whole, ok := process.Started(p, p.Arch(), auxv)
	if !ok {
		return
	}
	joined := !whole
	if joined { // the system recorded a title, perhaps cut
		if !strings.HasPrefix(args[0], strings.Join(s.Arguments, " ")) {
			args = nil
		} else {
			args = strings.Fields(args[0])
		}
	}
	if len(args) > 0 && args[0] != "" {
		s.Arguments, s.ArgumentsCut, s.ArgumentsJoined = args, false, joined && len(args) > 1
	}
	s.Env = env
}

// place adds what the environment tells of the machine.
func (s *Start) place() {
	if s.Container == "" {
		s.Container = process.Container(s.Env)
	}
	if s.Host == "" {
		s.Host = process.Variable(s.Env, "HOSTNAME")
	}
}

// Started implements Subject. Do not change what the result refers to.
func (c coreSubject) Started() Start { return c.started() }

func (c coreSubject) readStart() Start {
	s := Start{Process: report.Process{Executable: c.ExecutablePath()}}
	if p, ok := c.ProcessInfo(); ok {
		uid, gid := p.UID, p.GID
		s.Parent, s.UID, s.GID = max(p.PPID, 0), &uid, &gid
		if p.Args != "" {
			s.Arguments, s.ArgumentsCut = strings.Fields(p.Args), p.ArgsMayBeCut
			s.ArgumentsJoined = len(s.Arguments) > 1
		}
	}
	s.readStack(c)
	s.addCoredump(c.recorded())
	s.place()
	return s
}

// Started implements Subject.
func (l liveSubject) Started() Start {
	s := Start{Process: report.Process{Executable: l.ExecutablePath()}}
	s.readStack(l)
	s.place()
	return s
}

// addCoredump adds what systemd-coredump recorded.
func (s *Start) addCoredump(d coredump) {
	if d.host != "" {
		s.Host = d.host
	}
	if d.exe != "" && s.Executable == "" {
		s.Executable = d.exe
	}
	if s.UID == nil {
		s.UID = d.uid
	}
	if s.GID == nil {
		s.GID = d.gid
	}
}

// Started implements Subject.
func (m minidumpSubject) Started() Start {
	f := minidump.Of(m.dump)
	s := Start{Process: report.Process{Executable: m.dump.ExecutablePath(), Arguments: m.dump.CommandLine()}, Env: f.Linux.Env()}
	if created := f.Misc.CreateTime; created != 0 {
		s.Process.Started = time.Unix(int64(created), 0).UTC()
	}
	s.UID, s.GID = statusID(f, "Uid"), statusID(f, "Gid")
	if n, err := strconv.Atoi(f.Linux.StatusField("PPid")); err == nil {
		s.Parent = n
	}
	if s.Env == nil && f.System.Platform.Linux() {
		s.readStack(m)
	}
	s.place()
	return s
}

// statusID returns the real id in a line of /proc/PID/status; nil for none.
func statusID(f *minidump.File, field string) *int {
	word, _, _ := strings.Cut(f.Linux.StatusField(field), "\t")
	n, err := strconv.Atoi(word)
	if err != nil {
		return nil
	}
	return &n
}

// coredump is what systemd-coredump(8) records of a core: as extended attributes of the
// file, and in its name.
type coredump struct {
	host, exe string
	uid, gid  *int
	time      time.Time // of the crash
}

// coredumpOf reads the record of the file at path.
func coredumpOf(path string) (d coredump) {
	get := func(name string) string { return attribute(path, "user.coredump."+name) }
	d.host, d.exe = get("hostname"), get("exe")
	number := func(name string) *int {
		if n, err := strconv.Atoi(get(name)); err == nil {
			return &n
		}
		return nil
	}
	d.uid, d.gid = number("uid"), number("gid")
	stamp := get("timestamp")
	if stamp == "" {
		stamp = nameStamp(filepath.Base(path))
	}
	if us, err := strconv.ParseInt(stamp, 10, 64); err == nil && us > 0 {
		d.time = time.UnixMicro(us)
	}
	return d
}

// nameStamp returns the time in the name that systemd-coredump gives to a core, in
// microseconds since 1970: core.NAME.UID.BOOT-ID.PID.TIME, with the suffix of a
// compression. It returns "" for other names.
func nameStamp(name string) string {
	for _, suffix := range []string{".zst", ".lz4", ".xz"} {
		name = strings.TrimSuffix(name, suffix)
	}
	parts := strings.Split(name, ".")
	if len(parts) < 6 || parts[0] != "core" {
		return ""
	}
	parts = parts[len(parts)-4:]
	if !digits(parts[0]) || !digits(parts[2]) || !digits(parts[3]) || len(parts[3]) != 16 || len(parts[1]) != 32 || strings.Trim(parts[1], "0123456789abcdef") != "" {
		return ""
	}
	return parts[3]
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
