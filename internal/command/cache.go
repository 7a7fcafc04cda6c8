package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
)

const cacheUsage = `corewalk cache lists what corewalk keeps on disk from one run to the next: sections of debug information
that it has decompressed. Reports are the same without; they take longer.

Usage:
  corewalk cache           where it is, how large, and of which files
  corewalk cache --clear   remove all of it

The directory is corewalk/kept in the user's cache directory ($XDG_CACHE_HOME or ~/.cache). Reports take
--cache-size, which bounds it, and --no-cache, which neither reads nor writes it.

Examples:
  corewalk cache
  corewalk cache --format json | jq .size
`

// keepFlags say what is kept on disk from one run to the next.
type keepFlags struct {
	size sizeFlag
	off  bool
}

func (f *keepFlags) register(fs *pflag.FlagSet) {
	f.size = kept.DefaultLimit
	fs.Var(&f.size, "cache-size", "keep at most `SIZE` of decompressed debug information on disk for the next run (corewalk cache lists it)")
	fs.BoolVar(&f.off, "no-cache", false, "neither use nor write what is kept on disk of earlier runs")
}

// options returns those for corewalk.Open. A process in a sandbox writes nothing: who takes it over could leave others
// what it likes.
func (f *keepFlags) options(inside bool) []corewalk.Option {
	dir, ok := f.dir()
	if !ok {
		return nil
	}
	limit := int64(f.size)
	if inside {
		limit = 0
	}
	return []corewalk.Option{corewalk.WithKept(dir, limit)}
}

// also keeps what an analysis process could not keep. That is worth no word: what was asked for is done.
func (f *keepFlags) also(ctx context.Context, list []modules.Unkept) {
	if len(list) == 0 {
		return
	}
	afterAnswer(func() {
		c := corewalk.NewCache(ctx, 0, f.options(false)...)
		_ = c.KeepAlso(list)
		_ = c.Close()
	})
}

// afterwards is how long what only later runs need may take when the answer is printed. Targets and caches have such a limit
// of their own.
const afterwards = 2 * time.Second

// afterAnswer does what only later runs need. If a disk hangs, it does not wait for the end.
func afterAnswer(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	late := time.NewTimer(afterwards)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
}

// dir returns the directory, if there is to be one.
func (f *keepFlags) dir() (string, bool) {
	if f.off || f.size == 0 {
		return "", false
	}
	dir, err := kept.DefaultDir()
	return dir, err == nil
}

// cacheFlags are the flags of corewalk cache.
type cacheFlags struct {
	clear  bool
	format string
}

func (f *cacheFlags) set() *pflag.FlagSet {
	fs := pflag.NewFlagSet("corewalk cache", pflag.ContinueOnError)
	fs.BoolVar(&f.clear, "clear", false, "remove all that is kept")
	fs.StringVar(&f.format, "format", formatText, "print `FORMAT`: "+orList([]string{formatText, formatJSON}))
	choose(fs, "format", formatText, formatJSON)
	return fs
}

// A cacheReport is what corewalk cache prints as JSON.
type cacheReport struct {
	Path    string       `json:"path"`    // of the directory
	Size    int64        `json:"size"`    // of all entries on disk, in bytes
	Cleared bool         `json:"cleared"` // the entries have been removed
	Entries []cacheEntry `json:"entries"` // the last used first
}

// A cacheEntry is what is kept of one file.
type cacheEntry struct {
	Name    string    `json:"name"`               // of the entry's file, below the directory
	Size    int64     `json:"size"`               // on disk, in bytes
	Used    time.Time `json:"used"`               // to the hour
	Path    string    `json:"path,omitempty"`     // of the file; absent if the entry is another version's, or damaged
	BuildID string    `json:"build_id,omitempty"` // of the file, in hexadecimal
	Stale   bool      `json:"stale,omitempty"`    // the file has changed since, or is gone
}

func runCache(args []string, e env) int {
	var f cacheFlags
	fs := f.set()
	if status, ok := parse(fs, args, cacheUsage, e); !ok {
		return status
	}
	switch {
	case fs.NArg() > 0:
		return e.usageError("cache: takes no operands; to remove all that is kept, use --clear")
	case f.format != formatText && f.format != formatJSON:
		return e.usageError("--format %s: must be text or json", f.format)
	}
	dir, err := kept.DefaultDir()
	if err != nil {
		return e.fail(err)
	}
	room := kept.New(dir, 0)
	list, err := room.List()
	if err != nil {
		return e.fail(err)
	}
	r := cacheReport{Path: dir, Entries: []cacheEntry{}, Cleared: f.clear}
	for _, in := range list {
		r.Size += in.Size
		r.Entries = append(r.Entries, cacheEntry{in.Name, in.Size, in.Used.UTC(), in.Path, in.BuildID, in.Stale})
	}
	if f.clear {
		if _, _, err := room.Clear(); err != nil {
			return e.fail(err)
		}
	}
	if f.format == formatJSON {
		return e.written(e.writeJSON(r), exitComplete)
	}
	return e.written(r.write(e.stdout), exitComplete)
}

// write prints the list as text.
func (r *cacheReport) write(w io.Writer) error {
	verb, noun := "", "entries"
	if r.Cleared {
		verb = "removed: "
	}
	if len(r.Entries) == 1 {
		noun = "entry"
	}
	if _, err := fmt.Fprintf(w, "%s\n%s%d %s, %s\n", report.Clean(r.Path), verb, len(r.Entries), noun, report.Size(uint64(r.Size))); err != nil || r.Cleared {
		return err
	}
	for _, in := range r.Entries {
		of := in.Path
		switch {
		case of == "":
			of = in.Name + " (of another version, or damaged)"
		case in.Stale:
			of += " (changed or gone)"
		}
		if _, err := fmt.Fprintf(w, "%10s  %s  %s\n", report.Size(uint64(in.Size)), in.Used.Local().Format("2006-01-02 15:04"), report.Clean(of)); err != nil {
			return err
		}
	}
	return nil
}
