package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

const slimUsage = `corewalk slim writes a small core of a large one: all notes and registers, the stacks, the headers of
modules, and the memory that the report reads. Its report is the same, and gdb, lldb and eu-stack walk it to the same
stacks; that is checked before it is kept.

Usage:
  corewalk slim [flags] CORE [BINARY] -o SMALL

--redact blanks what is not needed to walk the stacks: strings, buffers and numbers in memory and registers, the
arguments and the environment. Bytes become "x", so that strings keep their lengths. Addresses of the process and
numbers from -4096 to 65535 stay. What was kept, and why, is printed.

Examples:
  corewalk slim core.4242 -o small
  corewalk slim --redact core.4242 -o small        # to send to somebody else
  corewalk slim --reach 8MiB core.4242 -o small    # more of what pointers lead to
  corewalk slim --format json core -o small | jq .size

Exit status: 0 the core was written; 1 it was not; 2 wrong usage; 3 it was written, and parts of it may be missing.
`

// defaultReach is the default of --reach, in bytes.
const defaultReach = 1 << 20

// slimFlags are the flags of corewalk slim.
type slimFlags struct {
	fileFlags
	output string
	redact bool
	reach  sizeFlag
	limits limitFlags
}

func (f *slimFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk slim", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	fs.StringVarP(&f.output, "output", "o", "", "write the small core to `FILE`")
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
	Notes    uint64            `json:"notes"` // size of notes, with the registers
	Kept     []slimKept        `json:"kept"`  // memory
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
	if f.output == "" {
		return e.usageError("slim: where to? corewalk slim CORE -o SMALL")
	}
	o, t, status, err := f.target(e, fs.Args(), corewalk.ForSlim())
	if t == nil {
		return status
	}
	defer t.Close()
	if err != nil {
		return e.fail(err)
	}
	if same(o.core, f.output) {
		return e.usageError("slim: -o %s is the core itself", f.output)
	}
	w, r, err := f.write(e, t)
	if err != nil {
		return e.fail(err)
	}
	if st, err := os.Stat(o.core); err == nil { // reports say when the core was written
		_ = os.Chtimes(f.output, st.ModTime(), st.ModTime())
	}
	if f.format == formatJSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return e.written(enc.Encode(r), status)
	}
	return e.written(f.print(e.stdout, w, r), status)
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// write writes the small core beside where it belongs, compares it with the core, and moves it there.
func (f *slimFlags) write(e env, t *corewalk.Target) (*corewalk.SlimWritten, *slimReport, error) {
	tmp, err := os.CreateTemp(filepath.Dir(f.output), ".corewalk-slim-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.Remove(tmp.Name())
	w, err := t.WriteSlim(e.ctx, tmp, corewalk.SlimOptions{Redact: f.redact, Reach: uint64(f.reach)})
	if err = errors.Join(err, tmp.Close()); err != nil {
		return nil, nil, err
	}
	r := &slimReport{Path: f.output, Size: w.Size, Was: w.Was, Notes: w.Notes, Kept: []slimKept{}}
	for _, k := range w.Kept {
		r.Kept = append(r.Kept, slimKept(k))
	}
	if f.redact {
		r.Redacted = &slimRedactReport{w.Blanked.Bytes, w.Blanked.Pointers, w.Blanked.Numbers}
	}
	small, err := corewalk.Open(context.WithoutCancel(e.ctx), tmp.Name(), f.options(e, "")...)
	if small == nil {
		return nil, nil, err
	}
	defer small.Close()
	if r.Threads, r.Frames, err = corewalk.SameStacks(t, small); err != nil {
		return nil, nil, fmt.Errorf("%s: not written: %w", f.output, err)
	}
	return w, r, os.Rename(tmp.Name(), f.output)
}

func (f *slimFlags) print(out io.Writer, w *corewalk.SlimWritten, r *slimReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s of %s; the stacks are the same (%s)\n", report.Clean(f.output), report.Size(r.Size), report.Size(r.Was), counted(r.Threads, r.Frames))
	fmt.Fprintf(&b, "  %10s  notes, with the registers\n", report.Size(r.Notes))
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "  %10s  %s\n", report.Size(k.Bytes), k.Why)
	}
	if f.redact {
		fmt.Fprintf(&b, "blanked %s of strings, buffers and numbers; %d addresses of the process and %d numbers from -4096 to 65535 are kept,\n"+
			"and so are the paths of files, the program's name, thread ids, signals and times\n", report.Size(w.Blanked.Bytes), w.Blanked.Pointers, w.Blanked.Numbers)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func counted(threads, frames int) string {
	return fmt.Sprintf("%d threads, %d frames", threads, frames)
}
