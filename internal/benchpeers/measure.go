package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A tool is a program as it is run on a workload.
type tool struct {
	name     string
	lines    [][]string // its command lines; more than one where it takes one core at a time
	want     [][]string // what the output of each line must contain
	statuses []int      // the exit statuses of success; none: 0
	env      []string
	cold     string // a directory that is emptied before each run
	prime    bool   // runs once before it is measured
}

// A sample is what one run of a tool took; of several command lines the sum of the times.
type sample struct {
	wall, cpu time.Duration
	peak      int64 // the most memory that one process had resident, in bytes
	status    int   // exit status, or 128 + the signal
}

// A result is what a tool took in all its runs, or why there is nothing.
type result struct {
	tool    string
	samples []sample
	failed  string // why a run does not count; empty if all do
}

// A measured workload has a result for each tool, in the order of the table.
type measured struct {
	workload *workload
	results  []result
	stacks   int64 // the bytes of the stacks that are walked: what any program must read
}

// slow is the processor time above which a tool runs at most slowRuns times.
const (
	slow     = 3 * time.Second
	slowRuns = 3
)

// A measurer runs tools.
type measurer struct {
	*builder
	dir      string // for outputs and caches
	corewalk string
	skip     []string
	caches   bool // corewalk keeps a cache
}

func newMeasurer(o *options, b *builder) (*measurer, error) {
	path, err := exec.LookPath(o.corewalk)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	m := &measurer{builder: b, corewalk: path, skip: strings.Split(o.skip, ",")}
	if m.dir, err = os.MkdirTemp("", "corewalk-bench"); err != nil {
		return nil, err
	}
	help, err := exec.Command(path, "--help").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s --help: %w", path, err)
	}
	m.caches = bytes.Contains(help, []byte("--no-cache"))
	return m, nil
}

// measure runs all tools on all workloads, round after round, so that what disturbs the machine
// for a while disturbs all of them.
func (m *measurer) measure(all []*workload, runs int) ([]measured, error) {
	var table []measured
	tools := make([][]tool, len(all))
	for i, w := range all {
		tools[i] = m.installed(w.tools(m))
		row := measured{workload: w}
		if w.program != "" {
			var err error
			if row.stacks, err = m.stacks(w); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
		}
		for _, t := range tools[i] {
			row.results = append(row.results, result{tool: t.name})
		}
		table = append(table, row)
	}
	for round := range runs {
		for i := range all {
			for j, t := range tools[i] {
				r := &table[i].results[j]
				if r.failed != "" || round >= slowRuns && r.median(cpu) > float64(slow) {
					continue
				}
				fmt.Fprintf(os.Stderr, "\rround %d of %d: %s %-24s", round+1, runs, all[i].name, t.name)
				s, failed, err := m.once(&t, round == 0)
				if err != nil {
					return nil, err
				}
				if r.failed = failed; failed == "" {
					r.samples = append(r.samples, s)
				}
			}
		}
	}
	fmt.Fprintln(os.Stderr)
	for _, row := range table {
		for _, r := range row.results {
			if r.failed != "" {
				fmt.Fprintf(os.Stderr, "%s: %s does not count: %s\n", row.workload.name, r.tool, r.failed)
			}
		}
	}
	return table, nil
}

// stacks returns the sum of the sizes of all threads' frames, in bytes.
func (m *measurer) stacks(w *workload) (total int64, err error) {
	dir := filepath.Join(m.builder.dir, w.files())
	_, out, err := m.launch(m.dir, nil, []string{m.corewalk, "--format", "json", "--locals", "none", "--max-frames", "0", filepath.Join(dir, "core"), filepath.Join(dir, w.program)})
	if err != nil {
		return 0, err
	}
	var report struct {
		Threads []struct {
			Frames []struct {
				Physical int // the number of the frame on the stack, which inlined functions share
				SP, CFA  string
			}
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return 0, fmt.Errorf("the report of corewalk: %w: %.400s", err, out)
	}
	for _, t := range report.Threads {
		last := -1
		for _, f := range t.Frames {
			sp, err := strconv.ParseUint(f.SP, 0, 64)
			cfa, err2 := strconv.ParseUint(f.CFA, 0, 64)
			if err == nil && err2 == nil && f.Physical != last && cfa > sp {
				total += int64(cfa - sp)
			}
			last = f.Physical
		}
	}
	return total, nil
}

// installed returns those of the tools that can be run and are wanted.
func (m *measurer) installed(tools []tool) []tool {
	return slices.DeleteFunc(tools, func(t tool) bool {
		_, err := exec.LookPath(t.lines[0][0])
		return err != nil || slices.Contains(m.skip, t.name)
	})
}

// once runs a tool once. failed says why the run does not count; err is for what must not happen.
func (m *measurer) once(t *tool, first bool) (total sample, failed string, err error) {
	for n := 0; n < 1 || n < 2 && first && t.prime; n++ {
		total = sample{}
		if t.cold != "" {
			if err := os.RemoveAll(t.cold); err != nil {
				return sample{}, "", err
			}
		}
		for i, line := range t.lines {
			s, out, err := m.launch(m.dir, t.env, line)
			if err != nil {
				return sample{}, "", err
			}
			if failed := t.wrong(i, s.status, out); failed != "" {
				return sample{}, failed, nil
			}
			total.wall += s.wall
			total.cpu += s.cpu
			total.peak = max(total.peak, s.peak)
		}
	}
	return total, "", nil
}

// wrong says why a run does not count: a tool that failed or lost frames has not done the work.
func (t *tool) wrong(line, status int, out []byte) string {
	if !slices.Contains(append(t.statuses, 0), status) {
		return fmt.Sprintf("exit status %d: %.200s", status, lastLine(out))
	}
	for _, w := range t.want[line] {
		if !bytes.Contains(out, []byte(w)) {
			return fmt.Sprintf("its output has no %q", w)
		}
	}
	return ""
}

// lastLine returns the last line of out that is not empty.
func lastLine(out []byte) []byte {
	out = bytes.TrimSpace(out)
	return out[bytes.LastIndexByte(out, '\n')+1:]
}

// launch runs a command line in dir, without network, and returns what it took and printed.
func (m *measurer) launch(dir string, env, line []string) (sample, []byte, error) {
	took, output := filepath.Join(m.dir, "took"), filepath.Join(m.dir, "output")
	cmd := exec.Command(m.launcher, append([]string{took, output}, line...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C", "HOME="+m.dir)
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Run(); err != nil {
		return sample{}, nil, fmt.Errorf("%s: %w", m.launcher, err)
	}
	text, err := os.ReadFile(took)
	if err != nil {
		return sample{}, nil, err
	}
	var wall, user, system, peak int64
	var s sample
	if _, err := fmt.Sscan(string(text), &wall, &user, &system, &peak, &s.status); err != nil {
		return sample{}, nil, fmt.Errorf("%s: %w", took, err)
	}
	s.wall, s.cpu, s.peak = time.Duration(wall), time.Duration(user+system)*time.Microsecond, peak<<10
	out, err := os.ReadFile(output)
	return s, out, err
}

func wall(s sample) float64 { return float64(s.wall) }
func cpu(s sample) float64  { return float64(s.cpu) }
func peak(s sample) float64 { return float64(s.peak) }

// median is the middle of what of tells of the samples, the mean of two if their number is even,
// 0 if there are none.
func (r *result) median(of func(sample) float64) float64 {
	var all []float64
	for _, s := range r.samples {
		all = append(all, of(s))
	}
	n := len(all)
	if n == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// least is the smallest of what of tells of the samples.
func (r *result) least(of func(sample) float64) float64 {
	var least float64
	for i, s := range r.samples {
		if v := of(s); i == 0 || v < least {
			least = v
		}
	}
	return least
}
