package minidump

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
)

// A microdump is Breakpad's output to a log where it cannot write a file: lines of text
// between two markers, each preceded by the log's own prefix. The first letter gives the
// kind of line (client/linux/microdump_writer/microdump_writer.cc):
//
//	V product                       P kind of process        G graphics processor
//	O os arch cpus machine version  R signal name address    H free address space
//	S 0 sp start size               then S start bytes, for the stack
//	C bytes                         the CONTEXT of the thread
//	M base offset size id name      for each module
const (
	microBegin = "-----BEGIN BREAKPAD MICRODUMP-----"
	microEnd   = "-----END BREAKPAD MICRODUMP-----"
)

// ErrNoMicrodump: the text has no complete line of a microdump.
var ErrNoMicrodump = errors.New("no microdump found")

// SniffMicrodump reports whether data begins like a log that contains a microdump.
func SniffMicrodump(data []byte) bool {
	return bytes.Contains(data[:min(len(data), 1<<16)], []byte(microBegin)) ||
		bytes.Contains(data[:min(len(data), 1<<16)], []byte("google-breakpad"))
}

// ParseMicrodump reads the first microdump in a log. Its thread gets the process's id if
// the log has it, otherwise 1.
func ParseMicrodump(data []byte) (*File, error) {
	m := microdump{f: &File{Data: data, Microdump: true, strMax: 1<<20 + 4*len(data)}}
	m.f.System = System{CPU: CPUUndefined, Platform: NoPlatform}
	_, text, found := bytes.Cut(data, []byte(microBegin))
	if !found {
		return nil, fmt.Errorf("%d bytes of log: %w", len(data), ErrNoMicrodump)
	}
	line, before := lastLines(data[:len(data)-len(text)])
	body, _, ended := bytes.Cut(text, []byte(microEnd))
	var lines []string
	for l := range bytes.Lines(body) {
		lines = append(lines, strings.TrimRight(string(l), "\r\n"))
	}
	if len(lines) > 0 {
		lines = lines[1:] // the rest of the first marker's
	}
	if ended && len(lines) > 0 && !bytes.HasSuffix(body, []byte("\n")) {
		lines = lines[:len(lines)-1] // what stands before the second marker
	}
	if format, first := formatOf(line, before); format != nil {
		m.pid = first.pid
		format.texts(lines, first, m.line)
	} else {
		// Whatever precedes the first marker precedes every line.
		prefix := strings.TrimSuffix(line, microBegin)
		for _, l := range lines {
			m.line(strings.TrimPrefix(l, prefix))
		}
	}
	if !ended {
		m.f.warnf("the microdump has no end marker: lines are missing")
	}
	m.finish()
	return m.f, nil
}

type microdump struct {
	f       *File
	pid     uint32
	stack   Range
	sp      uint64
	context []byte
	pieces  []Range
	bad     int
}

// lastLines returns the last two lines of text, as strings, the last first.
func lastLines(text []byte) (last, before string) {
	i := bytes.LastIndexByte(text, '\n')
	last = string(text[i+1:])
	if i > 0 {
		text = bytes.TrimRight(text[:i], "\r")
		before = string(text[bytes.LastIndexByte(text, '\n')+1:])
	}
	return last, before
}

// line reads a line of the microdump.
func (m *microdump) line(text string) {
	if len(text) < 2 || text[1] != ' ' {
		if text != "" {
			m.bad++
		}
		return
	}
	rest := text[2:]
	ok := true
	switch text[0] {
	case 'V':
		m.f.Product = rest
	case 'O':
		ok = m.system(strings.Fields(rest))
	case 'R':
		ok = m.reason(strings.Fields(rest))
	case 'S':
		ok = m.stackLine(strings.Fields(rest))
	case 'C':
		m.context, ok = unhex(rest)
	case 'M':
		ok = m.module(rest)
	}
	if !ok {
		m.bad++
	}
}

var microCPUs = lazy.Value[map[string]CPU]{Make: func() map[string]CPU {
	return map[string]CPU{"x86": CPUX86, "x86_64": CPUAMD64, "arm": CPUARM, "arm64": CPUARM64, "mips": CPUMIPS, "mips64": CPUMIPS64}
}}

// system parses line O: "A arm 02 armv7l ...".
func (m *microdump) system(w []string) bool {
	if len(w) < 3 {
		return false
	}
	s := &m.f.System
	cpu, known := microCPUs.Get()[w[1]]
	n, err := strconv.ParseUint(w[2], 16, 8)
	if !known || err != nil {
		m.f.warnf("microdump: unknown processor %q with %q units", w[1], w[2])
	}
	if known {
		s.CPU = cpu
	}
	s.Known, s.Processors = true, int(n)
	s.Platform = LinuxOS
	if w[0] == "A" {
		s.Platform = Android
	}
	s.ServicePack = strings.Join(w[3:], " ")
	return known
}

// reason parses line R: the signal's number and name, and the address.
func (m *microdump) reason(w []string) bool {
	if len(w) < 3 {
		return false
	}
	signo, err1 := strconv.ParseUint(w[0], 16, 32)
	addr, err2 := strconv.ParseUint(w[len(w)-1], 16, 64)
	m.f.Exception = &Exception{Code: uint32(signo), Address: addr}
	return err1 == nil && err2 == nil
}

// stackLine parses a line S: the first one has the stack's address, the others its bytes.
func (m *microdump) stackLine(w []string) bool {
	if len(w) == 4 && w[0] == "0" {
		var errs [3]error
		m.sp, errs[0] = strconv.ParseUint(w[1], 16, 64)
		m.stack.Start, errs[1] = strconv.ParseUint(w[2], 16, 64)
		m.stack.Size, errs[2] = strconv.ParseUint(w[3], 16, 64)
		return errors.Join(errs[:]...) == nil
	}
	if len(w) != 2 {
		return false
	}
	start, err := strconv.ParseUint(w[0], 16, 64)
	data, ok := unhex(w[1])
	if err != nil || !ok || len(data) == 0 || start+uint64(len(data)) < start {
		return false
	}
	if n := len(m.pieces); n > 0 {
		if p := &m.pieces[n-1]; p.Start+uint64(len(p.Data)) == start {
			p.Data = append(p.Data, data...)
			p.Size = uint64(len(p.Data))
			return true
		}
	}
	m.pieces = append(m.pieces, Range{Start: start, Size: uint64(len(data)), Data: data, Source: fromThread})
	return true
}

// module parses a line M: "base offset size id name", with hexadecimal numbers. The id
// consists of the 32 digits of a GUID and the age.
func (m *microdump) module(rest string) bool {
	w := strings.SplitN(rest, " ", 5)
	if len(w) < 5 {
		return false
	}
	base, err1 := strconv.ParseUint(w[0], 16, 64)
	_, err2 := strconv.ParseUint(w[1], 16, 64)
	size, err3 := strconv.ParseUint(w[2], 16, 64)
	if errors.Join(err1, err2, err3) != nil || base+size < base {
		return false
	}
	mod := Module{Base: base, Size: size, Path: w[4], DebugFile: w[4], Format: ELFBuildID}
	if len(w[3]) >= 32 {
		if id, ok := unhex(w[3][:32]); ok && !allZero(id) {
			mod.BuildID, mod.PartialID = guidBytes(id), true
		}
	}
	m.f.Modules = append(m.f.Modules, mod)
	return true
}

// guidBytes undoes the byte order change made by printing a GUID.
func guidBytes(b []byte) []byte {
	out := make([]byte, 0, 16)
	out = binary.LittleEndian.AppendUint32(out, binary.BigEndian.Uint32(b))
	out = binary.LittleEndian.AppendUint16(out, binary.BigEndian.Uint16(b[4:]))
	out = binary.LittleEndian.AppendUint16(out, binary.BigEndian.Uint16(b[6:]))
	return append(out, b[8:]...)
}

func unhex(s string) ([]byte, bool) {
	b, err := hex.DecodeString(strings.TrimSpace(s))
	return b, err == nil
}

func (m *microdump) finish() {
	f := m.f
	if m.bad > 0 {
		f.warnf("microdump: cannot parse %d lines", m.bad)
	}
	f.Misc.PID = m.pid
	id := m.pid
	if id == 0 {
		id = 1
	}
	if f.Exception != nil {
		f.Exception.ThreadID, f.Exception.Context = id, m.context
	}
	if len(m.context) > 0 || len(m.pieces) > 0 {
		f.Threads = []Thread{{ID: id, StackStart: m.stack.Start, StackSize: m.stack.Size, Context: m.context}}
	}
	f.Big = m.big()
	f.Memory = f.indexMemory(m.pieces)
	f.settleSystem()
}

// big determines from the flags of the context, which must be those of the processor,
// whether the process was big-endian.
func (m *microdump) big() bool {
	for _, l := range layouts(m.f.System.CPU) {
		le, ok := l.flagsOf(m.context, binary.LittleEndian)
		be, _ := l.flagsOf(m.context, binary.BigEndian)
		if ok && be&l.cpu != 0 && le&l.cpu == 0 {
			return true
		}
	}
	return false
}
