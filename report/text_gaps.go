package report

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// gaps writes what is not known, at the end of the report.
func (t *textWriter) gaps() {
	var sums []string
	if s := t.variables.text(); s != "" {
		sums = append(sums, "Not known: "+s+".")
	}
	if s := moduleSum(t.r.Modules); s != "" {
		sums = append(sums, "Modules: "+s+".")
	}
	missing := t.missing()
	if len(sums) == 0 && missing == "" && len(t.r.Warnings) == 0 && !t.r.Dump.Truncated {
		return
	}
	t.end()
	if len(sums) > 0 {
		t.wrap(plain, 2, strings.Join(sums, " "))
	}
	if d := &t.r.Dump; d.Truncated && !t.r.warns(WarnTruncated) {
		t.wrap(plain, 2, truncatedText(d))
	}
	if missing != "" {
		t.wrap(plain, 2, missing)
	}
	if w := t.r.MissingFile; w != nil && w.Of > 1 { // if only one is missing, the warning about it says what to do
		t.wanted(w)
	}
	t.warnings(t.r.Warnings)
}

// wanted writes which file would help most.
func (t *textWriter) wanted(w *MissingFile) {
	id := ""
	switch {
	case w.BuildID != "":
		id = ", build-id " + w.BuildID
	case w.DebugID != "":
		id = ", debug-id " + w.DebugID
	}
	frames := plural(w.Crashed, "frame") + " of the crashed thread"
	if w.Crashed == 0 {
		frames = plural(w.Frames, "frame")
	}
	lie := "lie"
	if w.Crashed == 1 || w.Crashed == 0 && w.Frames == 1 {
		lie = "lies"
	}
	t.wrap(plain, 2, fmt.Sprintf("The file that would help most: %s%s: %s %s in it; %s.", brief(w.Path, maxWords), id, frames, lie, w.Advice))
}

// warnings writes warnings. Advice that several warnings in a row share is written once, after them.
func (t *textWriter) warnings(list []Warning) {
	list = t.otherBuilds(list)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Advice == list[0].Advice && list[n].Code == list[0].Code {
			n++
		}
		shared := n > 1 && list[0].Advice != ""
		for i := range list[:n] {
			t.warning(&list[i], !shared)
		}
		if shared {
			t.wrap(plain, 2, "For each of these: "+lower(brief(list[0].Advice, maxWords)))
		}
		list = list[n:]
	}
}

// otherBuilds writes one line for the libraries whose files on this machine, at the paths of the dump, are of
// other builds, if they are several, and returns the other warnings: a dump from another machine has many.
func (t *textWriter) otherBuilds(list []Warning) []Warning {
	own := make(map[string]bool)
	for i := range t.r.Modules {
		if m := &t.r.Modules[i]; m.Status == ModuleMismatched && m.File == m.Path && !m.Main {
			own[m.Path] = true
		}
	}
	here := func(w Warning) bool { return w.Code == WarnMismatched && own[w.Module] }
	var names []string
	for _, w := range list {
		if here(w) {
			names = append(names, briefBase(w.Module))
		}
	}
	if len(names) < 2 {
		return list
	}
	s := fmt.Sprintf("%d libraries are of other builds than this machine's: %s", len(names), strings.Join(names[:min(maxOtherBuilds, len(names))], ", "))
	if n := len(names) - maxOtherBuilds; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	t.wrap(plain, 2, s+". Find the right files (corewalk info --missing lists their build-ids).")
	return slices.DeleteFunc(slices.Clone(list), here)
}

// maxOtherBuilds is how many libraries of other builds are named.
const maxOtherBuilds = 8

func (t *textWriter) warning(w *Warning, advise bool) {
	s := brief(w.Message, maxWords)
	if w.Module != "" {
		name := briefBase(w.Module)
		s = strings.TrimPrefix(s, name+": ")
		t.put(bold, name)
		t.put(plain, ": ")
	} else {
		s = capital(s)
	}
	if w.Advice != "" && advise {
		if !strings.HasSuffix(s, ".") {
			s += "."
		}
		s += " " + capital(brief(w.Advice, maxWords))
	}
	t.wrap(plain, 2, s)
}

// capital returns s with its first letter in upper case.
func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

// lower returns s with its first letter in lower case.
func lower(s string) string {
	if s != "" && s[0] >= 'A' && s[0] <= 'Z' {
		return string(s[0]-'A'+'a') + s[1:]
	}
	return s
}

// warns reports whether there is a warning with this code.
func (r *Report) warns(code string) bool {
	for i := range r.Warnings {
		if r.Warnings[i].Code == code {
			return true
		}
	}
	return false
}

func truncatedText(d *Dump) string {
	s := "The dump is cut short"
	if d.Size > 0 && d.FullSize > d.Size {
		s += ": it has " + sizeText(d.Size) + " of " + sizeText(d.FullSize)
	}
	return s + ". Dump again with enough disk space and a higher limit (ulimit -c)."
}

// sizeText formats a number of bytes for people.
func sizeText(n uint64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 4 {
		f /= 1000
		unit++
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %cB", f, " kMGT"[unit])
	}
	return fmt.Sprintf("%.0f %cB", f, " kMGT"[unit])
}

// A variableCount counts the variables of frames that the text shows by themselves. Of the others it claims nothing: they
// may not have been read (Projection).
type variableCount struct {
	all, unknown int
	reasons      map[string]int // of those without a value
	partly       bool           // frames were left out
}

// add counts the variables in the rows of a stack that some threads have in common.
func (c *variableCount) add(group []*Thread, rows []row) {
	c.partly = c.partly || len(group) > 1
	for _, r := range rows {
		if !r.alone() {
			c.partly = true
			continue
		}
		f := &group[0].Frames[r.first]
		for _, list := range [2][]Variable{f.Args, f.Locals} {
			for v := range list {
				c.all++
				if list[v].known() {
					continue
				}
				if c.unknown++; c.reasons == nil {
					c.reasons = make(map[string]int)
				}
				c.reasons[list[v].Reason]++
			}
		}
	}
}

// text says how many variables are not known, most frequent reasons first; "" if none.
func (c *variableCount) text() string {
	if c.unknown == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d variables", c.unknown, c.all)
	if c.partly {
		s += " of the frames shown"
	}
	if why := topReasons(c.reasons, c.unknown); why != "" {
		s += " (" + why + ")"
	}
	return s
}

// topReasons lists the three most frequent reasons. Reasons may contain addresses, so text after a colon is
// ignored.
func topReasons(counts map[string]int, total int) string {
	short := make(map[string]int)
	for reason, n := range counts {
		head, _, _ := strings.Cut(reason, ":")
		if head != "" {
			short[brief(head, maxName)] += n
		}
	}
	reasons := make([]string, 0, len(short))
	for r := range short {
		reasons = append(reasons, r)
	}
	sort.Slice(reasons, func(i, j int) bool {
		a, b := reasons[i], reasons[j]
		return short[a] > short[b] || short[a] == short[b] && a < b
	})
	if len(reasons) == 1 && short[reasons[0]] == total {
		return reasons[0]
	}
	var parts []string
	for _, r := range reasons[:min(3, len(reasons))] {
		parts = append(parts, fmt.Sprintf("%d %s", short[r], r))
	}
	return strings.Join(parts, ", ")
}

// moduleSum counts modules by match status.
func moduleSum(modules []Module) string {
	counts := make(map[string]int)
	var ids []string
	identified := make(map[string]bool)
	for i := range modules {
		if modules[i].idKind() != "" {
			identified[modules[i].Path] = true
		}
	}
	// What a process mapped once more of a module, as V8 does with its own functions, is not another module.
	modules = slices.DeleteFunc(slices.Clone(modules), func(m Module) bool { return m.idKind() == "" && m.Path != "" && identified[m.Path] })
	for i := range modules {
		counts[modules[i].Status]++
		if id := modules[i].idKind(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(modules) == 0 {
		return ""
	}
	if len(ids) == 0 {
		ids = []string{"build-id"}
	}
	slices.Sort(ids)
	s := fmt.Sprintf("%d of %d matched by %s", counts[ModuleMatched], len(modules), strings.Join(ids, " or "))
	for _, k := range []struct{ status, text string }{
		{ModuleMismatched, "mismatched"}, {ModuleMissing, "missing"}, {ModuleNoID, "without an id"},
	} {
		if n := counts[k.status]; n > 0 {
			s += fmt.Sprintf(", %d %s", n, k.text)
		}
	}
	return s
}

// idKind returns the kind of identifier that the module has; "" if it has none.
func (m *Module) idKind() string {
	switch {
	case m.BuildID != "":
		return "build-id"
	case m.pe():
		return "code id"
	case m.CodeID != "":
		return "UUID"
	case m.DebugID != "":
		return "debug-id"
	}
	return ""
}

// missing lists missing modules that no warning names, and what to do.
func (t *textWriter) missing() string {
	told := make(map[string]bool)
	for i := range t.r.Warnings {
		told[t.r.Warnings[i].Module] = true
	}
	var names []string
	more := 0
	for i := range t.r.Modules {
		m := &t.r.Modules[i]
		switch {
		case m.Status != ModuleMissing || m.Symbols == SymbolsBreakpad || told[m.Path] || m.kernels():
		case len(names) == 8:
			more++
		default:
			names = append(names, briefBase(m.Path))
		}
	}
	if len(names) == 0 {
		return ""
	}
	s := "Missing: " + strings.Join(names, ", ")
	if more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s + ". Get them: corewalk info --missing"
}
