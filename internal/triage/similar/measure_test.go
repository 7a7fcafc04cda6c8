package similar_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/internal/triage/similar"
)

// figures say how well a grouping finds the bugs. Pairs: which share of the pairs in one group are the same bug
// (precision), and which share of the pairs of one bug are in one group (recall). BCubed: the same for each
// dump's own group, averaged (Bagga and Baldwin, 1998).
type figures struct {
	groups, labels          int
	precision, recall, f    float64
	bPrecision, bRecall, bF float64
}

// measure compares a grouping with the labels, for the samples of one set. Groups contain the samples of all
// sets: a group that mixes sets is as wrong as one that mixes bugs.
func measure(all []*sample, group []string, set string) figures {
	size, labels, both := map[string]float64{}, map[string]float64{}, map[[2]string]float64{}
	for i, s := range all {
		size[group[i]]++
		labels[s.label()]++
		both[[2]string{group[i], s.label()}]++
	}
	var f figures
	n := 0.0
	seenGroup, seenLabel := map[string]bool{}, map[string]bool{}
	var same, together, right float64
	for i, s := range all {
		if s.Set != set {
			continue
		}
		n++
		k := both[[2]string{group[i], s.label()}]
		f.bPrecision += k / size[group[i]]
		f.bRecall += k / labels[s.label()]
		together += size[group[i]] - 1
		right += k - 1
		same += labels[s.label()] - 1
		seenGroup[group[i]], seenLabel[s.label()] = true, true
	}
	f.groups, f.labels = len(seenGroup), len(seenLabel)
	f.bPrecision, f.bRecall = f.bPrecision/n, f.bRecall/n
	f.precision, f.recall = right/max(together, 1), right/max(same, 1)
	f.f, f.bF = harmonic(f.precision, f.recall), harmonic(f.bPrecision, f.bRecall)
	return f
}

// signature returns the sample's signature, computed once.
func (s *sample) signature() *signature.Signature {
	if s.sig == nil {
		sig := signature.Of(s.report)
		s.sig = &sig
	}
	return s.sig
}

func harmonic(a, b float64) float64 {
	if a+b == 0 {
		return 0
	}
	return 2 * a * b / (a + b)
}

// A method returns a group for each sample.
type method struct {
	name  string
	group func([]*sample) []string
}

// plain hashes the names of the innermost n frames, unchanged.
func plain(n int) func([]*sample) []string {
	return func(all []*sample) []string {
		var out []string
		for _, s := range all {
			var names []string
			for _, f := range s.report.Threads[0].Frames {
				if len(names) < n {
					names = append(names, cmp.Or(f.Function, fmt.Sprintf("%s+%#x", f.Module, uint64(f.Offset))))
				}
			}
			out = append(out, strings.Join(names, "|"))
		}
		return out
	}
}

// first is the first level with n functions.
func first(n int) func([]*sample) []string {
	return func(all []*sample) []string {
		var out []string
		for _, s := range all {
			sig := s.signature()
			top := sig.Frames[:min(len(sig.Frames), n)]
			if sig.Weak || sig.Class == "stack-overflow" {
				out = append(out, sig.Hash)
				continue
			}
			out = append(out, strings.Join(append([]string{sig.Class, sig.Module}, top...), "|"))
		}
		return out
	}
}

func hashes(all []*sample) []string {
	var out []string
	for _, s := range all {
		sig := s.signature()
		out = append(out, sig.Hash)
	}
	return out
}

func strict(all []*sample) []string {
	var out []string
	for _, s := range all {
		sig := s.signature()
		out = append(out, sig.Strict)
	}
	return out
}

// linked returns the first level's groups, merged if they are linked as probably the same. Nobody merges them
// in use; this measures how right the links are.
func linked(threshold float64) func([]*sample) []string {
	return func(all []*sample) []string {
		var x similar.Index
		group := hashes(all)
		parent := map[string]string{}
		var root func(string) string
		root = func(g string) string {
			if p, ok := parent[g]; ok {
				return root(p)
			}
			return g
		}
		for i, s := range all {
			sig := s.signature()
			if linkable(sig) {
				x.Add(group[i], sig.Stack())
			}
		}
		for i, s := range all {
			sig := s.signature()
			if !linkable(sig) {
				continue
			}
			for _, m := range x.Query(sig.Stack()) {
				if a, b := root(group[i]), root(m.Group); a != b && m.Score >= threshold {
					parent[a] = b
				}
			}
		}
		for i := range group {
			group[i] = root(group[i])
		}
		return group
	}
}

func table(all []*sample, set string, methods []method) string {
	var b strings.Builder
	b.WriteString("| method | groups | pair precision | recall | F | B-cubed precision | recall | F |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range methods {
		f := measure(all, m.group(all), set)
		fmt.Fprintf(&b, "| %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", m.name, f.groups, f.precision, f.recall, f.f, f.bPrecision, f.bRecall, f.bF)
	}
	return b.String()
}

var update = flag.Bool("update", false, "rewrite the figures in docs/signatures.md")

// methods are the methods that docs/signatures.md compares.
func methods() []method {
	list := []method{
		{"plain hash of the top 3 frames", plain(3)},
		{"plain hash of the top 5 frames", plain(5)},
		{"**signature, first level**", hashes},
		{"**first level, linked groups merged**", linked(similar.Threshold)},
		{"signature, second level", strict},
	}
	for n := 1; n <= 4; n++ {
		list = append(list, method{fmt.Sprintf("first level, number of functions always %d", n), first(n)})
	}
	for _, th := range []float64{0.8, 0.9} {
		list = append(list, method{fmt.Sprintf("first level, groups merged from a score of %.1f", th), linked(th)})
	}
	return list
}

// TestMeasure checks that docs/signatures.md has the current figures, and that signatures are far better than
// plain hashes.
func TestMeasure(t *testing.T) {
	all := readSamples(t)
	file := filepath.Join(fixture.Root(t), "docs", "signatures.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	allRight, allLinks := 0, 0
	others := map[string]bool{"unseen": true, "languages": true, "tools": true} // measured, nothing is demanded of them
	for _, set := range []string{"tune", "held-out", "blind", "unseen", "languages", "tools"} {
		begin, end := "<!-- figures: "+set+" -->\n", "<!-- end of figures: "+set+" -->"
		from, to := strings.Index(doc, begin), strings.Index(doc, end)
		if from < 0 || to < from {
			t.Fatalf("%s: no place for the figures of %s", file, set)
		}
		from += len(begin)
		right, pairs := links(all, set)
		if !others[set] {
			allRight, allLinks = allRight+right, allLinks+pairs
		}
		says := fmt.Sprintf("\n%d of %d links between groups are right.\n", right, pairs)
		if want := census(all, set) + table(all, set, methods()) + says; doc[from:to] != want {
			if !*update {
				t.Errorf("%s: the figures of %s have changed (-update writes them):\n%s", file, set, want)
			}
			doc = doc[:from] + want + doc[to:]
		}
		top3, sig, link := measure(all, plain(3)(all), set), measure(all, hashes(all), set), measure(all, linked(similar.Threshold)(all), set)
		if !others[set] && sig.bF < top3.bF+0.2 || link.bF < sig.bF-0.03 {
			t.Errorf("%s: B-cubed F of top 3 frames %.3f, of signatures %.3f, with links %.3f", set, top3.bF, sig.bF, link.bF)
		}
	}
	if allLinks == 0 || allRight*3 < allLinks*2 { // a link that was right is gone when its groups become one
		t.Errorf("%d of %d links are right; two in three should be", allRight, allLinks)
	}
	if *update {
		if err := os.WriteFile(file, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// linkable is what package triage asks of a group.
func linkable(s *signature.Signature) bool { return !s.Weak && len(s.Stack()) >= similar.MinFrames }

// links measures how many of the links between groups are right: most dumps of both groups have the same bug.
func links(all []*sample, set string) (right, n int) {
	group := hashes(all)
	count, label, in := map[string]map[string]int{}, map[string]string{}, map[string]bool{}
	var x similar.Index
	for i, s := range all {
		g := group[i]
		if count[g] == nil {
			count[g] = map[string]int{}
		}
		if count[g][s.label()]++; count[g][s.label()] > count[g][label[g]] {
			label[g] = s.label()
		}
		in[g] = in[g] || s.Set == set
		if linkable(s.signature()) {
			x.Add(g, s.signature().Stack())
		}
	}
	seen := map[[2]string]bool{}
	for i, s := range all {
		if !linkable(s.signature()) {
			continue
		}
		for _, m := range x.Query(s.signature().Stack()) {
			pair := [2]string{min(group[i], m.Group), max(group[i], m.Group)}
			if !in[group[i]] || m.Group == group[i] || seen[pair] {
				continue
			}
			seen[pair] = true
			n++
			if label[group[i]] == label[m.Group] {
				right++
			}
		}
	}
	return right, n
}

// TestStable: a bug reached along one path has one signature of the first level, however the program was built:
// two compilers, every level of optimisation, static or not, with and without PIE, at different addresses each
// time.
func TestStable(t *testing.T) {
	type met struct{ label, path string }
	hashes, builds := map[met]map[string]string{}, map[met]int{}
	for _, s := range readSamples(t) {
		k := met{s.label(), s.Path}
		if hashes[k] == nil {
			hashes[k] = map[string]string{}
		}
		hashes[k][s.signature().Hash] = s.Config
		builds[k]++
	}
	for _, k := range []met{
		{"events no-connection", "a"}, {"events no-connection", "b"}, {"events refs-negative", "a"}, {"events compare-null", "a"},
		{"inventory long-name", "a"}, {"inventory far-slot", "b"}, {"inventory loop-of-categories", "a"}, {"inventory empty-average", "b"},
		{"store no-link", "a"}, {"store endless-chain", "a"}, {"mail over-quota", "a"}, {"mail raw-header", "a"},
		{"jobs no-owner", "a"}, {"jobs endless-deps", "b"}, {"jobs wrong-type", "a"},
	} {
		if len(hashes[k]) != 1 || builds[k] < 4 {
			t.Errorf("%v: %d signatures of %d builds: %v", k, len(hashes[k]), builds[k], hashes[k])
		}
	}
	one := 0
	for k := range hashes {
		if len(hashes[k]) == 1 {
			one++
		}
	}
	if t.Logf("%d of %d bugs and paths have one signature", one, len(hashes)); one*10 < len(hashes)*7 {
		t.Errorf("only %d of %d", one, len(hashes))
	}
}

// census describes what is in a set.
func census(all []*sample, set string) string {
	programs, bugs, builds, n := map[string]bool{}, map[string]bool{}, map[string]bool{}, 0
	for _, s := range all {
		if s.Set == set {
			n++
			programs[s.Program], bugs[s.label()], builds[s.Program+s.Config] = true, true, true
		}
	}
	return fmt.Sprintf("%d dumps of %d bugs in %d programs (%s), %d builds.\n\n", n, len(bugs), len(programs), strings.Join(sorted(programs), ", "), len(builds))
}

// TestMistakes prints, with -v, which dumps the first level wrongly separates and joins, for the tuning set
// only.
func TestMistakes(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("run with -v to print the mistakes")
	}
	all := readSamples(t)
	mistakes(t, all, hashes(all), "tune")
	mistakes(t, all, linked(similar.Threshold)(all), "tune")
}

// mistakes prints which bugs a grouping separates or joins.
func mistakes(t *testing.T, all []*sample, group []string, set string) {
	byLabel, byGroup := map[string]map[string][]int{}, map[string]map[string]int{}
	for i, s := range all {
		if s.Set != set {
			continue
		}
		if byLabel[s.label()] == nil {
			byLabel[s.label()] = map[string][]int{}
		}
		byLabel[s.label()][group[i]] = append(byLabel[s.label()][group[i]], i)
		if byGroup[group[i]] == nil {
			byGroup[group[i]] = map[string]int{}
		}
		byGroup[group[i]][s.label()]++
	}
	for _, label := range sorted(byLabel) {
		if len(byLabel[label]) < 2 {
			continue
		}
		t.Logf("%s: %d groups", label, len(byLabel[label]))
		for _, g := range sorted(byLabel[label]) {
			list := byLabel[label][g]
			s := all[list[0]]
			sig := s.signature()
			t.Logf("    %d: %s | %s (weak %v; %s %s)", len(list), sig.Class, strings.Join(sig.Frames[:min(5, len(sig.Frames))], " < "), sig.Weak, s.Path, s.Config)
		}
	}
	for _, g := range sorted(byGroup) {
		if len(byGroup[g]) > 1 {
			t.Logf("together: %v", byGroup[g])
		}
	}
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestMergedRecorded: dumps of both compilers have merged calls with their places, and none has places without end.
func TestMergedRecorded(t *testing.T) {
	met := map[string]int{}
	for _, s := range readSamples(t) {
		for _, f := range s.report.Threads[0].Frames {
			if f.Merged == nil {
				continue
			}
			met[strings.Fields(s.Config)[0]]++
			if n := len(f.Merged.Places); n == 0 || n > 16 || n == 1 && !f.Merged.Lost || f.Inlined || f.Tail {
				t.Errorf("%s %s: %+v", s.label(), s.Config, f)
			}
		}
	}
	if met["g++"] == 0 && met["gcc"] == 0 || met["clang++-19"] == 0 {
		t.Errorf("merged calls by compiler: %v", met)
	}
	t.Log(met)
}
