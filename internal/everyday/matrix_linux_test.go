package everyday

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk/internal/fixture"
)

// settles is how long files must not have changed for something of them to be kept.
const settles = 2100 * time.Millisecond

// varies is what may differ from one run of a command to the next.
var varies = []struct {
	what *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`\d+(\.\d+)? ?(ms|µs|us|s|seconds?)\b`), "how long it took"},
	{regexp.MustCompile(`"(seconds|elapsed_ms)": ?[0-9.e-]+`), "the same, in JSON"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?`), "when it was"},
}

func normal(text string) string {
	for _, v := range varies {
		text = v.what.ReplaceAllString(text, "~")
	}
	return text
}

// A matrix is what all cells share.
type matrix struct {
	corewalk string
	subjects []*subject
	hangs    atomic.Int32
}

// TestMatrix runs each command over and over with one directory of what is kept, on subjects and in settings that change from row to row: in the long run
// three times, and each row meets each program, each state of its files and each setting. The runs end, end well, and say the same.
func TestMatrix(t *testing.T) {
	t.Parallel()
	m := &matrix{corewalk: tested(t)}
	m.prepare(t)
	if len(m.subjects) == 0 {
		t.Skip("-run leaves the programs out")
	}
	from, to := 0, 1
	if fixture.IsLongRun() {
		from, to = fixture.Rounds(max(len(states), len(settings), len(programs)))
	}
	t.Run("rows", func(t *testing.T) {
		for _, i := range sample() {
			for k := from; k < to; k++ {
				s, c := m.subjects[(i+k*m.stride())%len(m.subjects)], settings[(i+k)%len(settings)]
				if k > 0 && !rows[i].asks("CORE") {
					s = m.subjects[0]
					if k >= len(settings) {
						continue
					}
				}
				m.cell(t, &rows[i], s, c)
			}
		}
		for _, s := range m.subjects {
			if !fixture.IsLongRun() && s.name == closes.subject {
				i := slices.IndexFunc(rows, func(r row) bool { return strings.Join(r.words, " ") == closes.row && r.silent })
				for _, c := range settings {
					if c.name == settings[0].name || c.name == settingHangs {
						m.cell(t, &rows[i], s, c)
					}
				}
			}
		}
	})
}

// closes is the row and the subject of which something is decompressed only while all is closed, to be kept.
var closes = struct{ row, subject string }{"shell FILES CORE", "recorded rust, compressed"}

func (m *matrix) cell(t *testing.T, r *row, s *subject, c setting) {
	t.Run(fmt.Sprintf("%s/%s/%s", strings.Join(r.words, " "), s.name, c.name), func(t *testing.T) {
		t.Parallel()
		m.again(t, r, s, c)
	})
}

// sample lists the rows that are run: all in the long run, else the first of each command.
func sample() (list []int) {
	seen := map[string]bool{}
	for i := range rows {
		first := !seen[rows[i].kind()]
		seen[rows[i].kind()] = true
		if fixture.IsLongRun() || first {
			list = append(list, i)
		}
	}
	return list
}

// stride takes a row through all subjects evenly.
func (m *matrix) stride() int { return len(m.subjects)/max(len(states), len(settings)) + 1 }

// prepare makes the subjects, and waits until something may be kept of their files.
func (m *matrix) prepare(t *testing.T) {
	t.Helper()
	top := t.TempDir()
	var mu sync.Mutex
	add := func(s *subject) {
		mu.Lock()
		defer mu.Unlock()
		m.subjects = append(m.subjects, s)
	}
	t.Run("subjects", func(t *testing.T) {
		for i, r := range recorded {
			for j, s := range recordedStates {
				name := "recorded " + r.name + ", " + s.name
				if fixture.IsLongRun() || j == i%len(recordedStates) || name == closes.subject {
					t.Run(name, func(t *testing.T) {
						fixture.TurnPart(t)
						add(placed(t, filepath.Join(top, fmt.Sprint("r", i, "-", j)), r.name, r.fixture, s))
					})
				}
			}
		}
		for i, p := range programs {
			for j, s := range states {
				if fixture.IsLongRun() || (i+j)%len(programs) == 0 {
					t.Run(p.name+", "+s.name, func(t *testing.T) {
						fixture.TurnPart(t)
						t.Parallel()
						add(die(t, filepath.Join(top, fmt.Sprint(i, "-", j)), p, s))
					})
				}
			}
		}
	})
	slices.SortFunc(m.subjects, func(a, b *subject) int { return strings.Compare(a.dir, b.dir) })
	time.Sleep(settles)

	// What each report says of a subject, the plain one does.
	t.Run("reports", func(t *testing.T) {
		for _, s := range m.subjects {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				r, err := p.run("", m.line([]string{"FILES", "CORE"}, s, p)...)
				if err != nil || r.status != 0 && r.status != 3 || s.gap && r.status != 3 {
					t.Errorf("status %d, %v\n%s", r.status, err, r.errs)
				}
				s.whole, s.alone = r.status, m.alone(t, s)
			})
		}
	})
}

// alone is the status of the report of a copy of a core, beside which nothing lies.
func (m *matrix) alone(t *testing.T, s *subject) int {
	t.Helper()
	p := newPlace(t)
	copyFile(t, s.core, p.path("out", "core"))
	r, err := p.run("", m.line([]string{"FILES", "OUT/core"}, s, p)...)
	if err != nil || r.status != 0 && r.status != 3 {
		t.Errorf("a copy of the core: status %d, %v\n%s", r.status, err, r.errs)
	}
	return r.status
}

// line is the command line of some words.
func (m *matrix) line(words []string, s *subject, p *place) []string {
	out := []string{m.corewalk}
	for _, word := range words {
		if word == "FILES" {
			out = append(out, s.files...)
			continue
		}
		out = append(out, m.replace(word, s, p))
	}
	return out
}

func (m *matrix) replace(text string, s *subject, p *place) string {
	return strings.NewReplacer("CORE", s.core, "PROGRAM", s.program, "SUBJECT", s.dir, "OUT", p.path("out"), "PID", p.pid, "DIES", s.dies).Replace(text)
}

// stdin is the standard input of a row.
func (m *matrix) stdin(t *testing.T, r *row, s *subject, p *place) string {
	t.Helper()
	if r.stdin != "CORE" {
		return lengths(m.replace(r.stdin, s, p))
	}
	data, err := os.ReadFile(s.core)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// again runs a row several times on a subject in a setting.
func (m *matrix) again(t *testing.T, r *row, s *subject, c setting) {
	if m.hangs.Load() > 8 {
		t.Skip("too many commands have not ended")
	}
	if r.asks("DIES") && s.dies == "" {
		t.Skip("the program of a recorded core is not started")
	}
	if c.name == settingFull && (r.asks("OUT") || r.stdin == "CORE") && !mounts() {
		t.Skip("without rights to mount, a full cache is a limit on the size of all files, and outputs and dumps from pipes are larger")
	}
	if c.name == settingHangs && (r.asks("OUT") || r.stdin == "CORE" || r.words[0] == "live") {
		t.Skip("an output, a dump that comes from a pipe and the core of a process are written as what is kept is")
	}
	if c.name == settingHangs && hanging() == nil {
		t.Skip("this kernel hands no system calls to a listener")
	}
	p := newPlace(t)
	if r.asks("PID") {
		p.waits(t)
	}
	stdin := m.stdin(t, r, s, p)
	var within []string
	once := func() (result, error) {
		for _, first := range r.first {
			if got, err := p.run("", append(slices.Clip(within), m.line(first, s, p)...)...); err != nil || got.status != 0 && got.status != 3 {
				return got, fmt.Errorf("%s, before: status %d, %w", strings.Join(first, " "), got.status, err)
			}
		}
		line := m.line(r.words, s, p)
		if i := slices.Index(line, "GROUP"); i >= 0 {
			list, err := p.run("", m.corewalk, "triage", "list", "--format", "json", "--db", p.path("out", "l.db"))
			group := regexp.MustCompile(`"group":"([0-9a-f]{6})`).FindStringSubmatch(list.out)
			if err != nil || group == nil {
				return list, errors.Join(err, errors.New("no group in the list"))
			}
			line[i] = group[1]
		}
		return p.run(stdin, append(slices.Clip(within), line...)...)
	}
	if c.warm {
		_, _ = once()
		p.empty(t)
	}
	if c.before != nil {
		c.before(t, p)
	}
	if c.within != nil {
		within = c.within(p)
	}
	want := r.status(s, &c)
	got := make([]result, 2)
	if fixture.IsLongRun() {
		got = make([]result, 3)
	}
	check := func(i int, err error) bool {
		g := got[i]
		if g.status < 0 {
			m.hangs.Add(1)
		}
		if err == nil && !slices.Contains(want, g.status) {
			err = fmt.Errorf("status %d, want %v", g.status, want)
		}
		if err != nil {
			t.Errorf("run %d: %v\n%s", i+1, err, tail(g.errs))
		}
		return err == nil
	}
	if c.together && !r.alone && !r.asks("OUT") && !r.asks("PID") {
		var all sync.WaitGroup
		errs := make([]error, len(got))
		for i := range got {
			all.Go(func() { got[i], errs[i] = once() })
		}
		all.Wait()
		for i := range got {
			if !check(i, errs[i]) {
				return
			}
		}
	} else {
		for i := range got {
			var err error
			got[i], err = once()
			if !check(i, err) {
				return
			}
			if got[i].files = p.written(t); r.ledger {
				got[i].files = ""
			}
		}
	}
	if err := p.clean(); err != nil {
		t.Error(err)
	}
	if r.varies {
		return
	}
	for i := range got[1:] {
		if d := cmp.Diff(normal(got[0].out), normal(got[i+1].out)); d != "" {
			t.Errorf("run %d says something else:\n%s", i+2, d)
		}
		if d := cmp.Diff(normal(got[0].errs), normal(got[i+1].errs)); d != "" {
			t.Errorf("run %d says something else on standard error:\n%s", i+2, d)
		}
		if got[0].files != got[i+1].files {
			t.Errorf("run %d writes something else", i+2)
		}
	}
}

// lengths gives messages of the Debug Adapter Protocol their lengths.
func lengths(text string) string {
	if !strings.Contains(text, "LENGTH") {
		return text
	}
	var b strings.Builder
	for _, part := range strings.SplitAfter(text, "}}") {
		body := strings.TrimPrefix(part, "Content-Length: LENGTH\r\n\r\n")
		if body != part {
			fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
		}
	}
	return b.String()
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// TestRows: each command of the program has a row, or a test in which it is ended.
func TestRows(t *testing.T) {
	p := newPlace(t)
	r, err := p.run("", tested(t), "completion", "bash")
	if err != nil || r.status != 0 {
		t.Fatal(r.status, err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^ +([a-z|]+)\) cmd=\$`).FindAllStringSubmatch(r.out, -1) {
		names = append(names, strings.Split(m[1], "|")...)
	}
	for _, m := range regexp.MustCompile(`(?m)\[\[ \$cmd == ([a-z]+) \]\](?s:.*?)([a-z|]+)\) cmd="\$cmd `).FindAllStringSubmatch(r.out, -1) {
		for second := range strings.SplitSeq(m[2], "|") {
			names = append(names, m[1]+" "+second)
		}
	}
	if !slices.Contains(names, "report") || !slices.Contains(names, "triage show") {
		t.Fatalf("the commands are %q", names)
	}
	have := map[string]bool{}
	for i := range rows {
		have[rows[i].command(names)] = true
	}
	for _, name := range append(names, "") {
		if !have[name] {
			t.Errorf("corewalk %s has no row", name)
		}
	}
}
