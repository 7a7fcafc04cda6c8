// Package handle is what the kernel starts when a process dies: it takes what the report needs, lets the process end, and
// keeps cores and reports within the limits of a policy.
package handle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Where things are unless the policy says something else.
const (
	DefaultPolicy    = "/etc/corewalk/handle.conf"
	DefaultDirectory = "/var/lib/corewalk"
)

// A Policy says what is kept of which programs, and for how long. Sizes are in bytes; 0 is no limit.
type Policy struct {
	Directory string
	Only      []string // patterns of paths of programs; empty for all
	Never     []string
	Full      []string // programs of which the whole core is kept, too
	Memory    uint64   // that is taken of a process
	Stack     uint64   // of each thread
	Reach     uint64   // of what registers and stacks point to
	Time      time.Duration
	Rate      int // crashes of a program that are kept within RateTime; 0 for no limit
	RateTime  time.Duration
	Disk      uint64 // of all crashes
	FullDisk  uint64 // of one full core
	Count     int    // of crashes
	Age       time.Duration
	Free      uint64 // that stays free on the disk
	Files     bool   // whether files of programs that packages do not have are kept
	FilesDisk uint64
	Report    bool
	Deadline  time.Duration // of a report
	Parallel  int           // reports that are made at a time
	User      string        // who makes them
	Ledger    bool

	kernel string // for tests, in place of /proc/sys/kernel
}

// Default returns the policy without a file.
func Default() Policy {
	return Policy{Directory: DefaultDirectory, Memory: 16 << 20, Stack: 256 << 10, Reach: 8 << 20, Time: 40 * time.Millisecond,
		Rate: 200, RateTime: time.Hour, Disk: 2 << 30, FullDisk: 16 << 30, Count: 1000, Age: 30 * 24 * time.Hour, Free: 512 << 20,
		Files: true, FilesDisk: 2 << 30, Report: true, Deadline: time.Minute, Parallel: 2, User: "corewalk", Ledger: true}
}

// setters parse the value of each key.
func (p *Policy) setters() map[string]func(string) error {
	text := func(to *string, check func(string) error) func(string) error {
		return func(v string) error {
			if err := check(v); err != nil {
				return err
			}
			*to = v
			return nil
		}
	}
	list := func(to *[]string) func(string) error {
		return func(v string) error {
			*to = strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' })
			for _, pattern := range *to {
				if _, err := path.Match(pattern, ""); err != nil {
					return fmt.Errorf("%q is no pattern", pattern)
				}
			}
			return nil
		}
	}
	size := func(to *uint64) func(string) error {
		return func(v string) (err error) { *to, err = parseSize(v); return err }
	}
	duration := func(to *time.Duration) func(string) error {
		return func(v string) (err error) { *to, err = parseDuration(v); return err }
	}
	count := func(to *int) func(string) error {
		return func(v string) error {
			n, err := strconv.ParseUint(v, 10, 31)
			if err != nil {
				return fmt.Errorf("%q is no number", v)
			}
			*to = int(n)
			return nil
		}
	}
	yes := func(to *bool) func(string) error {
		return func(v string) error {
			if *to = v == "yes"; v != "yes" && v != "no" {
				return fmt.Errorf("%q is neither yes nor no", v)
			}
			return nil
		}
	}
	return map[string]func(string) error{
		"directory": text(&p.Directory, func(v string) error {
			if !filepath.IsAbs(v) || filepath.Clean(v) == "/" {
				return fmt.Errorf("%q is no absolute path of a directory", v)
			}
			return nil
		}),
		"only": list(&p.Only), "never": list(&p.Never), "full": list(&p.Full),
		"memory": size(&p.Memory), "stack": size(&p.Stack), "reach": size(&p.Reach), "time": duration(&p.Time),
		"rate": func(v string) error {
			n, per, ok := strings.Cut(v, "/")
			if !ok {
				per = "1h"
			}
			return errors.Join(count(&p.Rate)(strings.TrimSpace(n)), duration(&p.RateTime)(strings.TrimSpace(per)))
		},
		"disk": size(&p.Disk), "full_disk": size(&p.FullDisk), "count": count(&p.Count), "age": duration(&p.Age), "free": size(&p.Free),
		"files": yes(&p.Files), "files_disk": size(&p.FilesDisk), "report": yes(&p.Report), "deadline": duration(&p.Deadline),
		"parallel": count(&p.Parallel), "user": text(&p.User, func(v string) error {
			if v == "" || v == "root" || v == "0" {
				return errors.New("reports are not made as root")
			}
			return nil
		}), "ledger": yes(&p.Ledger),
	}
}

// units are the suffixes of sizes, powers of 1024.
const units = "KMGT"

func parseSize(v string) (uint64, error) {
	s, shift := strings.TrimSuffix(strings.TrimSuffix(v, "iB"), "B"), 0
	if s != "" {
		if i := strings.IndexByte(units, s[len(s)-1]); i >= 0 {
			s, shift = s[:len(s)-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 20+40)
	if err != nil || n<<shift>>shift != n || n<<shift >= 1<<62 {
		return 0, fmt.Errorf("%q is no size; write 512MiB or 4GiB", v)
	}
	return n << shift, nil
}

// parseDuration understands days, too.
func parseDuration(v string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(v, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration; write 30d or 90s", v)
	}
	return d, nil
}

// maxPolicy limits the size of a policy file, in bytes.
const maxPolicy = 1 << 20

// Read reads a policy: lines of key = value; # begins a comment. What is wrong is listed, line by line; the policy is what
// the other lines say.
func Read(r io.Reader) (Policy, []error) {
	p := Default()
	var wrong []error
	set := p.setters()
	seen := map[string]bool{}
	n := 0
	in := bufio.NewScanner(io.LimitReader(r, maxPolicy))
	for in.Scan() {
		n++
		line, _, _ := strings.Cut(in.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		was := p
		switch f := set[key]; {
		case !ok:
			wrong = append(wrong, fmt.Errorf("line %d: %q is not key = value", n, line))
		case f == nil:
			wrong = append(wrong, fmt.Errorf("line %d: there is no key %q", n, key))
		case seen[key]:
			wrong = append(wrong, fmt.Errorf("line %d: %s is given twice", n, key))
		default:
			seen[key] = true
			if err := f(value); err != nil {
				p = was
				wrong = append(wrong, fmt.Errorf("line %d: %s: %w", n, key, err))
			}
		}
	}
	if err := in.Err(); err != nil {
		wrong = append(wrong, err)
	}
	return p, wrong
}

// Load reads the policy file at a path; a file that is not there is an empty one.
func Load(path string) (Policy, []error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return Default(), nil
	}
	if err != nil {
		return Default(), []error{err}
	}
	defer f.Close()
	return Read(f)
}

// matches reports whether one of the patterns is a program's path, or its name.
func matches(patterns []string, program string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		name := program
		if !strings.Contains(pattern, "/") {
			name = path.Base(program)
		}
		ok, _ := path.Match(pattern, name)
		return ok || pattern == "*"
	})
}

// keeps reports whether crashes of a program are kept.
func (p *Policy) keeps(program string) bool {
	return (len(p.Only) == 0 || matches(p.Only, program)) && !matches(p.Never, program)
}
