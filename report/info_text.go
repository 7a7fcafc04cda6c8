package report

import (
	"fmt"
	"io"
	"strconv"
)

// maxPath is the longest path, in characters, that a table shows.
const maxPath = 200

// WriteInfoText writes in for people: a headline and one table each for notes,
// mappings and modules, with columns that do not depend on opts.Width, then
// warnings. Errors are the writer's.
func WriteInfoText(w io.Writer, in *Info, opts TextOptions) error {
	t := &textWriter{lineWriter: newLineWriter(w, opts), r: &Report{}, opts: opts}
	t.infoHead(&in.Dump)
	for _, s := range []struct {
		title string
		count int
		table table
	}{
		{"Notes", len(in.Notes), notesTable(in.Notes)},
		{"Mappings", len(in.Mappings), mappingsTable(in.Mappings)},
		{"Modules", len(in.Modules), modulesTable(in.Modules)},
	} {
		t.end()
		t.put(bold, s.title+": "+strconv.Itoa(s.count))
		if s.title == "Mappings" && s.count > 0 {
			t.put(plain, mappingSum(in.Mappings))
		}
		t.end()
		s.table.write(t.lineWriter)
	}
	if len(in.Warnings) > 0 {
		t.end()
	}
	for i := range in.Warnings {
		t.warning(&in.Warnings[i])
	}
	return t.w.Flush()
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
	return fmt.Sprintf(", %s, %s of them in the dump", sizeText(all), sizeText(have))
}

func notesTable(notes []Note) table {
	tab := table{heads: []string{"owner", "type", ">size", ">thread", "detail"}}
	for i := range notes {
		n := &notes[i]
		thread := ""
		if n.Thread != 0 {
			thread = strconv.Itoa(n.Thread)
		}
		tab.add(brief(n.Owner, 32), brief(n.Type, 32), strconv.FormatUint(n.Size, 10), thread, brief(n.Detail, maxPath))
	}
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

func modulesTable(ms []Module) table {
	tab := table{heads: []string{">base", ">end", "status", "symbols", "id", "path"}}
	for i := range ms {
		m := &ms[i]
		tab.add(m.Base.String(), m.End.String(), brief(m.Status, 16), brief(m.Symbols, 16), brief(m.id(), 48), brief(m.Path, maxPath))
	}
	return tab
}

// id is the build-id or the debug-id.
func (m *Module) id() string {
	if m.BuildID != "" {
		return m.BuildID
	}
	return m.DebugID
}
