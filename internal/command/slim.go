package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/scratch"
	"github.com/corewalk/corewalk/report"
)

const slimUsage = `corewalk slim writes a small core of a large one: all notes and registers, the stacks, the headers of
modules, and the memory that the report reads. Its report is the same, and gdb, lldb and eu-stack walk it to the same
stacks; that is checked before it is kept.

Usage:
  corewalk slim [flags] CORE [BINARY] -o SMALL

--redact blanks what is not needed to walk the stacks: strings, buffers and numbers in memory and registers, the
arguments and the environment. Bytes become "x", so that strings keep their lengths. Addresses of the process and
numbers from -4096 to 65535 stay. A redacted minidump has no comments, no streams that are not known, and of paths
outside the system's directories only base names. What was kept, and why, is printed.

Examples:
  corewalk slim core.4242 -o small
  corewalk slim --redact core.4242 -o small        # to send to somebody else
  corewalk slim --reach 8MiB core.4242 -o small    # more of what pointers lead to
  corewalk slim --format json core -o small | jq .size

Exit status: 0 the core was written; 1 it was not; 2 wrong usage; 3 it was written, and parts of it may be missing.
`

// defaultReach is the default of --reach, in bytes.
const defaultReach = 1 << 20

// outFlags are the flags of commands that make a dump of a dump.
type outFlags struct {
	fileFlags
	output string
}

func (f *outFlags) register(fs *pflag.FlagSet, formats ...string) {
	f.fileFlags.register(fs, formats...)
	fs.StringVarP(&f.output, "output", "o", "", "write it to `FILE`")
}

// slimFlags are the flags of corewalk slim.
type slimFlags struct {
	outFlags
	redact bool
	reach  sizeFlag
}

func (f *slimFlags) set() *pflag.FlagSet { return f.named("slim") }

func (f *slimFlags) named(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk "+name, pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	fs.BoolVar(&f.redact, "redact", false, "blank strings, buffers and numbers, the arguments and the environment")
	f.reach = defaultReach
	fs.Var(&f.reach, "reach", "keep `SIZE` of the memory that registers and stacks point to, besides what the report reads")
	return fs
}

// A slimReport is what corewalk slim prints as JSON. Sizes are in bytes.
type slimReport struct {
	Path     string            `json:"path"`
	Size     uint64            `json:"size"`
	Was      uint64            `json:"was"`     // size of the core that it was made of
	Threads  int               `json:"threads"` // walked to the same stacks
	Frames   int               `json:"frames"`
	Notes    uint64            `json:"notes"`             // size of notes, with the registers
	Kept     []slimKept        `json:"kept"`              // memory
	Dropped  []string          `json:"dropped,omitempty"` // streams of a minidump that were not written
	Redacted *slimRedactReport `json:"redacted,omitempty"`
}

type slimKept struct {
	Why   string `json:"why"`
	Bytes uint64 `json:"bytes"`
}

type slimRedactReport struct {
	Blanked  uint64 `json:"blanked_bytes"`
	Pointers uint64 `json:"kept_addresses"`
	Numbers  uint64 `json:"kept_numbers"`
	Stays    string `json:"kept_besides"`
}

func runSlim(args []string, e env) int {
	var f slimFlags
	fs := f.set()
	if status, ok := parse(fs, args, slimUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	return f.carry(e, fs.Args(), "slim", func(t *corewalk.Target, _ operands, to string) (outcome, error) {
		r, err := f.write(e, t, to)
		return r, err
	})
}

// An outcome is what a command that writes a dump prints of it.
type outcome interface{ text() string }

// carry opens a dump and has write make another beside where it belongs, then moves it there.
func (f *outFlags) carry(e env, args []string, name string, write func(t *corewalk.Target, o operands, to string) (outcome, error)) int {
	if f.output == "" {
		return e.usageError("%s: where to? corewalk %s CORE -o FILE", name, name)
	}
	o, t, status, err := f.target(e, args, corewalk.ForSlim())
	if t == nil {
		return status
	}
	defer t.Close()
	if err != nil {
		return e.fail(err)
	}
	if same(o.core, f.output) {
		return e.usageError("%s: -o %s is the core itself", name, f.output)
	}
	beside := filepath.Dir(f.output)
	if special(f.output) {
		beside = os.TempDir()
	}
	dir, err := scratch.Make(beside, ".corewalk-"+name+"-*")
	if err != nil {
		return e.fail(err)
	}
	defer dir.Remove()
	to := filepath.Join(dir.Path, name)
	r, err := write(t, o, to)
	if err != nil {
		return e.fail(fmt.Errorf("%s: not written: %w", f.output, err))
	}
	if st, err := os.Stat(o.core); err == nil { // reports say when the dump was written
		_ = os.Chtimes(to, st.ModTime(), st.ModTime())
	}
	if err := putInPlace(to, f.output); err != nil {
		return e.fail(err)
	}
	if f.format == formatJSON {
		return e.written(e.writeJSON(r), status)
	}
	_, err = io.WriteString(e.stdout, r.text())
	return e.written(err, status)
}

// special reports whether a path is that of something that takes what is written to it and stays what it is: a device such as /dev/null, a pipe.
func special(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// putInPlace moves a finished file to where it belongs, or writes it to what is there if that is special: root may replace /dev/null, and must not.
func putInPlace(from, to string) error {
	if !special(to) {
		return os.Rename(from, to)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// write writes the small core, and compares its stacks with the core's.
func (f *slimFlags) write(e env, t *corewalk.Target, to string) (*slimReport, error) {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // as the kernel's: it contains secrets
	if err != nil {
		return nil, err
	}
	w, err := t.WriteSlim(e.ctx, file, corewalk.SlimOptions{Redact: f.redact, Reach: uint64(f.reach)})
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	r := &slimReport{Path: f.output, Size: w.Size, Was: w.Was, Notes: w.Notes, Kept: []slimKept{}, Dropped: w.Dropped}
	for _, k := range w.Kept {
		r.Kept = append(r.Kept, slimKept(k))
	}
	if f.redact {
		r.Redacted = &slimRedactReport{w.Blanked.Bytes, w.Blanked.Pointers, w.Blanked.Numbers, w.Stays}
	}
	r.Threads, r.Frames, err = compare(e, t, to, corewalk.WithFilesOf(t))
	return r, err
}

// compare compares the stacks of a dump with those of what was made of it, whose files opts say.
func compare(e env, t *corewalk.Target, with string, opts ...corewalk.Option) (threads, frames int, err error) {
	other, err := corewalk.Open(context.WithoutCancel(e.ctx), with, opts...)
	if other == nil {
		return 0, 0, err
	}
	defer other.Close()
	return corewalk.SameStacks(t, other)
}

func (r *slimReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s; the stacks are the same (%d threads, %d frames)\n", report.Clean(r.Path), report.Size(r.Size), report.Size(r.Was), r.Threads, r.Frames)
	fmt.Fprintf(&b, "  %10s  notes, with the registers\n", report.Size(r.Notes))
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "  %10s  %s\n", report.Size(k.Bytes), k.Why)
	}
	if len(r.Dropped) > 0 {
		fmt.Fprintf(&b, "left out: %s\n", report.Clean(strings.Join(r.Dropped, ", ")))
	}
	if d := r.Redacted; d != nil {
		fmt.Fprintf(&b, "blanked %s of strings, buffers and numbers; %d addresses of the process and %d numbers from -4096 to 65535 are kept,\n"+
			"and so are %s\n", report.Size(d.Blanked), d.Pointers, d.Numbers, d.Stays)
	}
	return b.String()
}
