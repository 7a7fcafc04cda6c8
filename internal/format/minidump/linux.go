package minidump

import (
	"bytes"
	"strconv"
	"strings"
)

// Linux is what Breakpad's writers for Linux add: copies of files in /proc and /etc, and
// the dynamic linker's data.
type Linux struct {
	CPUInfo    []byte // /proc/cpuinfo
	Status     []byte // /proc/PID/status
	LSBRelease []byte // /etc/lsb-release or /etc/os-release
	CmdLine    []byte // /proc/PID/cmdline
	Environ    []byte // /proc/PID/environ
	Auxv       []byte // /proc/PID/auxv
	Limits     []byte // /proc/PID/limits
	MapsText   []byte // /proc/PID/maps
	Maps       []LinuxMap
	DSODebug   *DSODebug
}

// A LinuxMap is a line of /proc/PID/maps: the range [Start, End).
type LinuxMap struct {
	Start, End uint64
	Perm       string // "r-xp"
	Offset     uint64
	Inode      uint64
	Path       string // may end in " (deleted)"
}

// readLinuxMaps parses the lines that look like mappings. The text may end in NULs or in
// the middle of a line.
func (f *File) readLinuxMaps(s []byte) {
	f.Linux.MapsText = s
	bad := 0
	for line := range bytes.Lines(s) {
		text := strings.TrimRight(string(line), "\r\n\x00")
		if m, ok := ParseMap(text); ok {
			f.Linux.Maps = append(f.Linux.Maps, m)
		} else if text != "" {
			bad++
		}
	}
	if bad > 0 {
		f.warnf("stream LinuxMaps: %d lines are not mappings", bad)
	}
}

func ParseMap(line string) (m LinuxMap, ok bool) {
	field := func() string {
		var word string
		word, line, _ = strings.Cut(strings.TrimLeft(line, " "), " ")
		return word
	}
	start, end, ok := strings.Cut(field(), "-")
	var e1, e2 error
	m.Start, e1 = strconv.ParseUint(start, 16, 64)
	m.End, e2 = strconv.ParseUint(end, 16, 64)
	if !ok || e1 != nil || e2 != nil || m.End <= m.Start {
		return m, false
	}
	m.Perm = field()
	if len(m.Perm) < 3 {
		return m, false
	}
	m.Offset, _ = strconv.ParseUint(field(), 16, 64)
	field() // device
	m.Inode, _ = strconv.ParseUint(field(), 10, 64)
	m.Path = strings.TrimLeft(line, " \t")
	return m, true
}

// pid returns the process id in status, or 0.
func (l *Linux) pid() int {
	n, _ := strconv.Atoi(l.StatusField("Pid"))
	return n
}

// StatusField returns a value in /proc/PID/status ("Name", "VmPeak"), or "" if there is
// none.
func (l *Linux) StatusField(key string) string {
	for line := range bytes.Lines(l.Status) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == key {
			return strings.Trim(v, " \t\r\n\x00")
		}
	}
	return ""
}

// Args returns the command line.
func (l *Linux) Args() []string { return splitNUL(l.CmdLine) }

// Env returns the environment as NAME=value.
func (l *Linux) Env() []string { return splitNUL(l.Environ) }

// What is kept of arguments and variables: the kernel allows more only where the limit of the stack was raised.
const (
	maxWords     = 1 << 14
	maxWordBytes = 4 << 20
)

// vector limits a stream of strings that end in NULs: a report repeats each.
func (f *File) vector(t StreamType, b []byte) []byte {
	keep := b[:min(len(b), maxWordBytes)]
	for n, at := 0, 0; at < len(keep); n++ {
		if n == maxWords {
			keep = keep[:at]
			break
		}
		i := bytes.IndexByte(keep[at:], 0)
		if i < 0 {
			break
		}
		at += i + 1
	}
	if len(keep) < len(b) && len(bytes.TrimRight(b[len(keep):], "\x00")) > 0 {
		f.warnf("stream %v: only the first %d of %d bytes are used", t, len(keep), len(b))
	}
	return keep
}

func splitNUL(b []byte) []string {
	b = bytes.TrimRight(b, "\x00")
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

// A Release describes the distribution.
type Release struct{ ID, Version, Codename, Description string }

// Release parses the release file in the dump, whichever of the two it is.
func (l *Linux) Release() Release {
	var r Release
	for line := range bytes.Lines(l.LSBRelease) {
		k, v, ok := strings.Cut(strings.TrimRight(string(line), "\r\n\x00"), "=")
		if !ok {
			continue
		}
		v = strings.Trim(v, `"' `)
		switch strings.TrimSpace(k) {
		case "DISTRIB_ID", "ID":
			r.ID = v
		case "DISTRIB_RELEASE", "VERSION_ID":
			r.Version = v
		case "DISTRIB_CODENAME", "VERSION_CODENAME":
			r.Codename = v
		case "DISTRIB_DESCRIPTION", "PRETTY_NAME":
			r.Description = v
		}
	}
	return r
}

// A DSODebug is the dynamic linker's r_debug and its list of libraries.
type DSODebug struct {
	Version uint32
	Break   uint64 // r_brk
	LDBase  uint64
	Dynamic uint64 // address of the program's dynamic section
	Section []byte // the bytes of that section
	Links   []LinkMap
}

// A LinkMap is an entry of the list: the load bias, and the address of the dynamic section.
type LinkMap struct {
	Addr, Dynamic uint64
	Name          string
}

// readDSODebug decodes MDRawDebug32 or MDRawDebug64, depending on the dump's architecture.
// For 64-bit processes, newer writers pack the fields to 4 bytes, older ones align them to
// 8. A dynamic section with entries of 16 bytes follows, so the stream's size tells which
// it is.
func (f *File) readDSODebug(s []byte) {
	w := f.PCBits() / 8
	aligned := w == 8 && len(s)%16 == 40%16
	c := f.cursor(s)
	d := &DSODebug{Version: c.U32()}
	at, count := uint64(c.U32()), uint64(c.U32())
	size := 2*w + 4
	if aligned {
		c.Skip(4)
		size += 4
	}
	d.Break, d.LDBase, d.Dynamic = c.Uint(w), c.Uint(w), c.Uint(w)
	if c.Error != nil {
		f.warnf("stream LinuxDsoDebug: truncated after %d bytes", len(s))
		return
	}
	d.Section = s[c.Off:]
	list := f.clip(at, count*uint64(size))
	n := f.entries(LinuxDSODebugStream, count, len(list), size)
	for i := range n {
		e := f.cursor(list[i*size : (i+1)*size])
		link := LinkMap{Addr: e.Uint(w)}
		link.Name, _ = f.stringAt(uint64(e.U32()))
		if aligned {
			e.Skip(4)
		}
		link.Dynamic = e.Uint(w)
		d.Links = append(d.Links, link)
	}
	f.Linux.DSODebug = d
}

// A Limit is a line of /proc/PID/limits. The values are as written there, a number or
// "unlimited".
type Limit struct{ Name, Soft, Hard, Unit string }

// Columns in which the kernel writes the values (fs/proc/base.c, proc_pid_limits).
const softColumn, hardColumn, unitColumn = 26, 47, 68

// ParseLimits parses /proc/PID/limits: a header line, then columns of fixed width.
func (l *Linux) ParseLimits() []Limit {
	var list []Limit
	column := func(line string, from, to int) string {
		from, to = min(from, len(line)), min(to, len(line))
		return strings.TrimSpace(line[from:to])
	}
	for line := range strings.Lines(string(bytes.TrimRight(l.Limits, "\x00"))) {
		x := Limit{column(line, 0, softColumn), column(line, softColumn, hardColumn), column(line, hardColumn, unitColumn), column(line, unitColumn, len(line))}
		if isLimit(x.Soft) && isLimit(x.Hard) && x.Name != "" {
			list = append(list, x)
		}
	}
	return list
}

func isLimit(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil || s == "unlimited"
}

// Microcode returns the version of the processor's microcode, such as "0xf0", or "" if
// unknown.
func (l *Linux) Microcode() string {
	for line := range bytes.Lines(l.CPUInfo) {
		k, v, ok := strings.Cut(string(line), ":")
		if ok && strings.TrimSpace(k) == "microcode" {
			n, err := strconv.ParseUint(strings.TrimPrefix(strings.Trim(v, " \t\r\n\x00"), "0x"), 16, 64)
			if err != nil {
				return ""
			}
			return "0x" + strconv.FormatUint(n, 16)
		}
	}
	return ""
}
