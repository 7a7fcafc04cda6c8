package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxPath is the longest path, in characters, that a table shows.
const maxPath = 200

// WriteInfoText writes in for people: a headline, one table each for notes, mappings and modules, then
// warnings. The tables' columns do not depend on opts.Width. The error is w's.
func WriteInfoText(w io.Writer, in *Info, opts TextOptions) error {
	t := &textWriter{lineWriter: newLineWriter(w, opts), r: &Report{}, opts: opts}
	t.infoHead(&in.Dump)
	t.detailsHead(in)
	t.runtimes(in.Runtimes)
	before, after := minidumpSections(in)
	list := append([]section{notesSection(in)}, before...)
	list = append(list, mappingsSection(in), section{"Modules", len(in.Modules), "", modulesTable(in.Modules, in.Memory != nil)})
	for _, s := range append(list, after...) {
		if s.title == "" {
			continue
		}
		t.end()
		t.put(bold, s.title+": "+strconv.Itoa(s.count))
		t.put(plain, s.more)
		t.end()
		s.table.write(t.lineWriter)
	}
	if len(in.Warnings) > 0 || in.MissingFile != nil {
		t.end()
	}
	if in.MissingFile != nil {
		t.wanted(in.MissingFile)
	}
	t.warnings(in.Warnings)
	return t.w.Flush()
}

// runtimes writes a line for each runtime.
func (t *textWriter) runtimes(list []Runtime) {
	for i := range list {
		r := &list[i]
		s := "runtime: " + brief(r.Name, maxName)
		if d := brief(r.Description, maxPath); strings.HasPrefix(d, brief(r.Name, maxName)+" ") { // and the version
			s = "runtime: " + d
		} else if d != "" {
			s += ", " + d
		}
		if r.Tasks > 0 || r.Problem == "" {
			s += fmt.Sprintf(", %d tasks", r.Tasks)
		}
		if r.Problem != "" {
			s += "; " + brief(r.Problem, maxWords)
		}
		t.put(plain, "  ")
		t.wrap(plain, 4, s)
	}
}

func (t *textWriter) infoHead(d *Dump) {
	head := d.Format
	if s := d.system(); s != "" {
		head += ", " + s
	}
	if d.Path != "" {
		t.put(bold, brief(d.Path, maxPath))
		t.put(plain, ": ")
	}
	t.line(plain, head)
	if d.Command != "" || d.PID != 0 || d.CommandLine != "" {
		t.process(d)
	}
	if d.Truncated {
		t.put(plain, "  ")
		t.wrap(plain, 4, truncatedText(d))
	} else if d.Size > 0 {
		t.line(plain, "  size: "+sizeText(d.Size))
	}
}

func (t *textWriter) process(d *Dump) {
	t.put(plain, "  process: "+brief(d.Command, maxName))
	if d.PID != 0 {
		t.put(plain, "["+strconv.Itoa(d.PID)+"]")
	}
	if d.CommandLine != "" {
		t.put(plain, ", started as "+brief(d.CommandLine, maxPath))
	}
	t.end()
}

func mappingSum(ms []Mapping) string {
	var all, have uint64
	for i := range ms {
		if ms[i].End > ms[i].Start {
			all += uint64(ms[i].End - ms[i].Start)
		}
		have += ms[i].InDump
	}
	return fmt.Sprintf(", %s, %s in the dump", sizeText(all), sizeText(have))
}

// notesSection lists the notes of a core, or the streams of a minidump.
func notesSection(in *Info) section {
	if in.Dump.Format != FormatMinidump {
		return section{"Notes", len(in.Notes), "", notesTable(in.Notes)}
	}
	tab := table{heads: []string{"type", ">size", "detail"}}
	for i := range in.Notes {
		// Writers fill the rest of the stream directory with unused entries.
		if n := &in.Notes[i]; n.Type != "Unused" || n.Size != 0 {
			tab.add(brief(n.Type, 32), strconv.FormatUint(n.Size, 10), brief(n.Detail, maxPath))
		}
	}
	tab.dropEmpty()
	return section{"Streams", len(tab.rows), "", tab}
}

// maxUnasked is how many mappings of a minidump are listed when nobody asked for memory.
const maxUnasked = 200

// mappingsSection lists the mappings of the process. If a minidump does not describe them, they are derived
// from its modules and memory ranges, which the text lists anyway.
func mappingsSection(in *Info) section {
	s := section{title: "Mappings", count: len(in.Mappings)}
	if m := in.Memory; m != nil && len(m.Ranges) == 0 {
		if m.Pages == 0 && (in.Details == nil || in.Details.Mappings == 0) {
			return section{}
		} else if s.count > maxUnasked {
			s.more = mappingSum(in.Mappings) + " (--memory lists them)"
			return s
		}
	}
	if s.count > 0 {
		s.more, s.table = mappingSum(in.Mappings), mappingsTable(in.Mappings)
	}
	return s
}

// notesTable lists equal notes once: threads have the same ones, and there may be thousands of threads.
func notesTable(notes []Note) table {
	type kind struct {
		owner, typ, detail string
		size               uint64
	}
	type group struct {
		kind
		count   int
		threads map[int]bool
	}
	var groups []*group
	found := map[kind]*group{}
	for i := range notes {
		n := &notes[i]
		k := kind{n.Owner, n.Type, n.Detail, n.Size}
		g := found[k]
		if g == nil {
			g = &group{kind: k, threads: map[int]bool{}}
			found[k] = g
			groups = append(groups, g)
		}
		g.count++
		if n.Thread != 0 {
			g.threads[n.Thread] = true
		}
	}
	tab := table{heads: []string{"owner", "type", ">size", ">notes", ">thread", "detail"}}
	for _, g := range groups {
		count, thread := "", ""
		for tid := range g.threads {
			thread = strconv.Itoa(tid)
		}
		if n := len(g.threads); n > 1 {
			thread = strconv.Itoa(n) + " threads"
		}
		if g.count != max(1, len(g.threads)) {
			count = strconv.Itoa(g.count)
		}
		tab.add(brief(g.owner, 32), brief(g.typ, 32), strconv.FormatUint(g.size, 10), count, thread, brief(g.detail, maxPath))
	}
	tab.dropEmpty()
	return tab
}

func mappingsTable(ms []Mapping) table {
	tab := table{heads: []string{">start", ">end", "perm", ">offset", ">in dump", "file"}}
	for i := range ms {
		m := &ms[i]
		in := strconv.FormatUint(m.InDump, 10)
		switch {
		case m.InDump == 0:
			in = "-"
		case m.InDump == uint64(m.End-m.Start):
			in = "all"
		}
		tab.add(m.Start.String(), m.End.String(), brief(m.Perm, 8), m.Offset.String(), in, brief(m.File, maxPath))
	}
	return tab
}

// modulesTable lists modules; files adds the files found, where those are not at the path that the process had.
func modulesTable(ms []Module, files bool) table {
	tab := table{heads: []string{">base", ">end", "status", "symbols", "id", "code id", "version", "path", "file"}}
	for i := range ms {
		m := &ms[i]
		file := m.File
		if !files || file == m.Path {
			file = ""
		}
		tab.add(m.Base.String(), m.End.String(), brief(m.Status, 16), brief(m.Symbols, 16), brief(m.id(), 48), brief(m.CodeID, 48), brief(strings.TrimPrefix(m.Version, "0.0.0.0"), 32),
			brief(m.Path, maxPath), brief(file, maxPath))
	}
	tab.dropEmpty()
	return tab
}

// id returns the build-id, the debug-id, or the part of Go's build id that stands for the file's content.
func (m *Module) id() string {
	if m.BuildID != "" {
		return m.BuildID
	}
	return cmp.Or(m.DebugID, m.GoBuildID[strings.LastIndexByte(m.GoBuildID, '/')+1:])
}
