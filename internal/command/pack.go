package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/carry/slim"
	"github.com/corewalk/corewalk/report"
)

const packUsage = `corewalk pack puts a core and the files of its modules into one file: binaries, separate debug files and symbol
files. Every command opens it as it opens a core, and makes the same report on a machine that has none of them. The core is
a slim one (corewalk slim --help), unless --full is given.

Usage:
  corewalk pack [flags] CORE [BINARY] -o FILE

The file is a zip archive with a manifest; unzip unpacks it. It is unpacked into a temporary directory while it is used.

Examples:
  corewalk pack core.4242 -o crash.cwz
  corewalk pack --redact core.4242 -o crash.cwz     # without values
  corewalk pack --debuginfod core.4242 -o crash.cwz # with debug files from servers
  corewalk crash.cwz

Exit status: 0 the pack was written; 1 it was not; 2 wrong usage; 3 it was written, and parts of it may be missing.
`

// packFlags are the flags of corewalk pack.
type packFlags struct {
	slimFlags
	full bool
}

func (f *packFlags) set() *pflag.FlagSet {
	fs := f.named("pack")
	fs.BoolVar(&f.full, "full", false, "put the whole core into it, not a slim one")
	return fs
}

// A packReport is what corewalk pack prints as JSON. Sizes are in bytes.
type packReport struct {
	Path  string      `json:"path"`
	Size  int64       `json:"size"`
	Core  uint64      `json:"core"`           // size of the core in it
	Slim  *slimReport `json:"slim,omitempty"` // absent with --full
	Files []packFile  `json:"files"`
}

type packFile struct {
	Path string `json:"path"`
	Size uint64 `json:"size"` // not compressed
}

func runPack(args []string, e env) int {
	var f packFlags
	fs := f.set()
	if status, ok := parse(fs, args, packUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	if f.full && f.redact {
		return e.usageError("pack: --redact and --full exclude each other: a redacted core is a slim one")
	}
	return f.carry(e, fs.Args(), "pack", func(t *corewalk.Target, o operands, to string) (outcome, error) { return f.pack(e, t, o, to) })
}

func (f *packFlags) pack(e env, t *corewalk.Target, o operands, to string) (*packReport, error) {
	r := &packReport{Path: f.output, Files: []packFile{}}
	core := filepath.Join(filepath.Dir(to), "core")
	full := f.full
	var err error
	if !full {
		if r.Slim, err = f.write(e, t, core); err == nil {
			r.Slim.Path = filepath.Base(core)
		} else if full = errors.Is(err, slim.ErrMicrodump); full { // it is as small as it gets
			r.Slim = nil
		}
	}
	if full {
		core = o.core
		_, err = t.Analyze(e.ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll}) // looks up the files
	}
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	p, err := t.WritePack(file, o.core, core)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	for _, m := range p.Files {
		r.Files = append(r.Files, packFile(m))
	}
	r.Core = p.Core
	if st, err := os.Stat(to); err == nil {
		r.Size = st.Size()
	}
	_, _, err = compare(e, t, to, f.options(e, "")...)
	return r, err
}

func (r *packReport) text() string {
	var b strings.Builder
	if r.Slim != nil {
		b.WriteString(r.Slim.text())
	}
	fmt.Fprintf(&b, "%s: %s; core (%s) and %d files:\n", report.Clean(r.Path), report.Size(uint64(r.Size)), report.Size(r.Core), len(r.Files))
	for _, f := range r.Files {
		fmt.Fprintf(&b, "  %10s  %s\n", report.Size(f.Size), report.Clean(f.Path))
	}
	return b.String()
}
