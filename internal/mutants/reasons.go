package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// reasons are the mutants that no test can kill, or need not kill, each with its
// reason.
type reasons struct {
	why  map[string]string // by the mutant's key
	used map[string]bool
}

// readReasons reads a file of reasons. A line "= reason" holds for the mutants on the
// lines that follow it: directory, function, kind and source, with tabs in between.
func readReasons(name string) (*reasons, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &reasons{why: map[string]string{}, used: map[string]bool{}}
	reason := ""
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "= "):
			reason = strings.TrimPrefix(line, "= ")
		case strings.Count(line, "\t") != 3:
			return nil, fmt.Errorf("%s:%d: need directory, function, kind and source with tabs between them", name, n)
		case reason == "":
			return nil, fmt.Errorf("%s:%d: need a line \"= reason\" above", name, n)
		case r.why[line] != "":
			return nil, fmt.Errorf("%s:%d: this mutant has a reason already", name, n)
		default:
			r.why[line] = reason
		}
	}
	return r, scan.Err()
}

// of returns the reason why a mutant may survive, or "".
func (r *reasons) of(m *mutant) string {
	why := r.why[m.key()]
	if why != "" {
		r.used[m.key()] = true
	}
	return why
}

// stale returns the reasons for mutants of a package that no longer exist. Only those of
// functions that are asked for count.
func (r *reasons) stale(dir string, asked func(fn string) bool) []string {
	var out []string
	for key := range r.why {
		if rest, ok := strings.CutPrefix(key, dir+"\t"); ok && !r.used[key] {
			if fn, _, _ := strings.Cut(rest, "\t"); asked(fn) {
				out = append(out, key)
			}
		}
	}
	slices.Sort(out)
	return out
}

// A further is tests of another package that count for a package.
type further struct {
	dir   string
	match *regexp.Regexp
	sub   bool // each of its subtests counts as a test
}

// A target is a package whose mutants are tested.
type target struct {
	dir  string
	more []further
}

// readTargets reads the list of packages. Each line has a directory, then the tests of
// other packages that count for it: directory:pattern, or directory:pattern/* to count
// each subtest.
func readTargets(name string) ([]target, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out []target
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		t := target{dir: fields[0]}
		for _, f := range fields[1:] {
			dir, pat, ok := strings.Cut(f, ":")
			if !ok {
				return nil, fmt.Errorf("%s:%d: need directory:pattern, not %q", name, n, f)
			}
			pat, sub := strings.CutSuffix(pat, "/*")
			match, err := regexp.Compile(pat)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			t.more = append(t.more, further{dir, match, sub})
		}
		out = append(out, t)
	}
	return out, nil
}
