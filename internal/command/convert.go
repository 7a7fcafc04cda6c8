package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

const convertUsage = `corewalk convert makes a minidump of an ELF core, or an ELF core of a minidump: of Linux, on x86-64, i386, aarch64 and
arm. Registers, memory, mappings, modules with their build-ids, the signal and how the process was started are carried over. What
the other format has no place for is listed. The stacks of both are compared.

Usage:
  corewalk convert [flags] CORE [BINARY] -o OUT

Examples:
  corewalk convert core.4242 -o crash.dmp          # for minidump-stackwalk
  corewalk convert crash.dmp -o core --search bin  # for gdb

Exit status: 0 the dump was written; 1 it was not; 2 wrong usage; 3 it was written, and parts of it may be missing.
`

// Formats of dumps, as --to names them.
const (
	toCore     = "core"
	toMinidump = "minidump"
)

// convertFlags are the flags of corewalk convert.
type convertFlags struct {
	outFlags
	to string
}

func (f *convertFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk convert", pflag.ContinueOnError)
	f.register(fs, formatText, formatJSON)
	fs.StringVar(&f.to, "to", "", "write a `FORMAT`: core or minidump; without it, the one that CORE is not")
	return fs
}

// A convertReport is what corewalk convert prints as JSON. Sizes are in bytes.
type convertReport struct {
	Path    string   `json:"path"`
	Format  string   `json:"format"` // core or minidump
	Size    uint64   `json:"size"`
	Was     uint64   `json:"was"`     // size of the dump that it was made of
	Threads int      `json:"threads"` // walked to the same stacks
	Frames  int      `json:"frames"`
	Same    bool     `json:"same_stacks"`
	Lost    []string `json:"lost"`
}

func runConvert(args []string, e env) int {
	var f convertFlags
	fs := f.set()
	if status, ok := parse(fs, args, convertUsage, e); !ok {
		return status
	}
	if err := f.check(e); err != nil {
		return e.wrong(err)
	}
	if f.to != "" && f.to != toCore && f.to != toMinidump {
		return e.usageError("convert: --to %s: the formats are %s and %s", f.to, toCore, toMinidump)
	}
	return f.carry(e, fs.Args(), "convert", func(t *corewalk.Target, _ operands, to string) (outcome, error) {
		r, err := f.convert(e, t, to)
		return r, err
	})
}

func (f *convertFlags) convert(e env, t *corewalk.Target, to string) (*convertReport, error) {
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // as the kernel's: it contains secrets
	if err != nil {
		return nil, err
	}
	w, err := t.Convert(file, f.to)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	r := &convertReport{Path: f.output, Format: w.Format, Size: w.Size, Was: w.Was, Lost: append([]string{}, w.Lost...)}
	r.Threads, r.Frames, err = compare(e, t, to, corewalk.WithFilesOf(t))
	if r.Same = err == nil; err != nil {
		r.Lost = append(r.Lost, "what the stacks need: "+err.Error())
	}
	return r, nil
}

func (r *convertReport) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: a %s of %s, made of %s", report.Clean(r.Path), r.Format, report.Size(r.Size), report.Size(r.Was))
	if r.Same {
		fmt.Fprintf(&b, "; the stacks are the same (%d threads, %d frames)", r.Threads, r.Frames)
	}
	b.WriteString("\n")
	if len(r.Lost) > 0 {
		b.WriteString("lost:\n")
	}
	for _, s := range r.Lost {
		fmt.Fprintf(&b, "  %s\n", report.Clean(s))
	}
	return b.String()
}
