package report

import "io"

// InfoSchema names the shape of WriteInfoJSON's document.
const InfoSchema = "corewalk-info/1"

// An Info is what a dump holds, without an analysis of it.
type Info struct {
	// Schema is the constant InfoSchema; WriteInfoJSON writes that whatever is here.
	Schema   string    `json:"schema"`
	Dump     Dump      `json:"dump"`
	Notes    []Note    `json:"notes"`
	Mappings []Mapping `json:"mappings"`
	Modules  []Module  `json:"modules"`
	Warnings []Warning `json:"warnings"`
}

// A Note is one of an ELF core's notes, or a minidump's stream.
type Note struct {
	Owner  string `json:"owner"` // "CORE", "LINUX"; "MDMP" for a stream
	Type   string `json:"type"`  // "NT_PRSTATUS"
	Size   uint64 `json:"size"`  // bytes, without the header
	Thread int    `json:"thread,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// A Mapping is a range of the process's memory.
type Mapping struct {
	Start  Addr   `json:"start"`
	End    Addr   `json:"end"`  // first address past it
	Perm   string `json:"perm"` // "r-x"
	Offset Addr   `json:"offset"`
	File   string `json:"file,omitempty"` // empty for anonymous memory
	InDump uint64 `json:"in_dump"`        // bytes of it that the dump holds
}

// WriteInfoJSON writes in as one JSON document, in the way of WriteJSON.
func WriteInfoJSON(w io.Writer, in *Info) error {
	j := jsonWriter{w: w}
	j.open('{', false)
	j.str("schema", InfoSchema)
	j.key("dump")
	j.dump(&in.Dump)
	array(&j, "notes", in.Notes, (*jsonWriter).note)
	array(&j, "mappings", in.Mappings, (*jsonWriter).mapping)
	array(&j, "modules", in.Modules, (*jsonWriter).module)
	array(&j, "warnings", in.Warnings, (*jsonWriter).warning)
	j.close('}')
	j.buf = append(j.buf, '\n')
	j.flush()
	return j.err
}

func (j *jsonWriter) note(n *Note) {
	j.open('{', true)
	j.str("owner", n.Owner)
	j.str("type", n.Type)
	j.size("size", n.Size)
	j.optNum("thread", n.Thread)
	j.optStr("detail", n.Detail)
	j.close('}')
}

func (j *jsonWriter) mapping(m *Mapping) {
	j.open('{', true)
	j.addr("start", m.Start)
	j.addr("end", m.End)
	j.str("perm", m.Perm)
	j.addr("offset", m.Offset)
	j.optStr("file", m.File)
	j.size("in_dump", m.InDump)
	j.close('}')
}
