package v8

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where Node's file is not there, or is another one, V8's variables and the names of its code are missing. What the variables have is the same in all
// builds of a version of V8 for x86-64: constants.txt has it. Which version it is, Node's memory says.

//go:embed constants.txt
var constantsText string

const (
	versionMark   = "-node." // which ends V8's version in Node: "11.3.244.8-node.38"
	versionSearch = 16 << 20 // bytes of what follows the program that are searched for it: Node writes it when it starts
	versionPiece  = 256 << 10
	maxVersion    = 32 // bytes
	unnamed       = "?"
)

// isNode reports whether a module is Node by its name.
func isNode(lib *libstate.Library) bool {
	return strings.HasPrefix(find.BaseName(lib.Path), "node")
}

// openNameless reads of V8 what there is without the file that it is in.
func openNameless(p *tasks.Process, lib *libstate.Library) (*engine, error) {
	if p.State.Arch() != arch.AMD64 {
		return nil, fmt.Errorf("known for x86-64 only, not for %s", p.State.Arch().Name)
	}
	e := &engine{Reader: procmem.Of(p.State).Charged(p.Spend), p: p, lib: lib}
	if e.version = e.versionInMemory(); e.version == "" {
		return nil, errors.New("its file is not there, and its version is not in memory")
	}
	parts := strings.SplitN(e.version, ".", 3)
	version := parts[0] + "." + parts[1]
	if e.constants = constantsOf(version); len(e.constants) == 0 {
		return nil, fmt.Errorf("its file is not there, and what it says is not known for V8 %s", version)
	}
	var err error
	e.layout, err = readLayout(&variables{value: e.constant}, version)
	return e, err
}

// constantsOf is what V8's variables have in a version: none if it is not known.
func constantsOf(version string) map[string]uint32 {
	out := map[string]uint32{}
	column := -1
	for line := range strings.Lines(constantsText) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case column < 0:
			for i, v := range f {
				if v == version {
					column = i
				}
			}
			if column < 0 {
				return nil
			}
		default:
			if x, err := strconv.ParseUint(f[column], 10, 32); err == nil {
				out[f[0]] = uint32(x)
			}
		}
	}
	return out
}

// versionInMemory finds the version of V8 in the text that Node made when it started; "" if it is not there.
func (e *engine) versionInMemory() string {
	p, ok := e.p.State.(interface{ Mappings() []libstate.Mapping })
	if !ok {
		return ""
	}
	buf := make([]byte, versionPiece)
	left := uint64(versionSearch)
	for _, m := range p.Mappings() {
		if m.Start < e.lib.Start || m.Perm&libstate.Write == 0 {
			continue
		}
		for at := m.Start; at < m.End && left > 0; {
			b := buf[:min(uint64(len(buf)), m.End-at, left)]
			left -= uint64(len(b))
			b = b[:e.Fill(at, b)]
			if v := versionIn(b); v != "" {
				return v
			}
			if len(b) <= maxVersion {
				break
			}
			at += uint64(len(b)) - maxVersion // it may lie across the end
		}
	}
	return ""
}

// versionIn finds a version of V8 in memory: four numbers before the mark.
func versionIn(b []byte) string {
	for end := 0; ; end++ {
		i := bytes.Index(b[end:], []byte(versionMark))
		if i < 0 {
			return ""
		}
		end += i
		start := end
		for start > 0 && end-start < maxVersion && (b[start-1] == '.' || b[start-1]-'0' < 10) {
			start--
		}
		v := string(b[start:end])
		if parts := strings.Split(v, "."); len(parts) == 4 && !strings.Contains("."+v+".", "..") {
			return v
		}
	}
}

// namelessIn says that a frame in the program's code is of V8's own code, whose name is not known: its frame pointer leads to a frame of JavaScript. Of C++ that
// V8 calls it may do so, too: then the calls of C++ up to there are left out.
func (e *engine) namelessIn(lib *libstate.Library, f *unwind.Frame) string {
	fp := f.FP()
	if lib == nil || lib.Path != e.lib.Path || fp%8 != 0 || fp < f.SP() || e.marker(fp) == "" && !e.isFunction(e.Word(from(fp, frameFunction))) {
		return ""
	}
	return unnamed
}
