package report

import (
	"io"
	"reflect"
	"time"
)

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
	// Threads, Memory and Details are of minidumps.
	Threads  []ThreadInfo `json:"threads,omitempty"`
	Memory   *MemoryInfo  `json:"memory,omitempty"`
	Details  *Details     `json:"details,omitempty"`
	Warnings []Warning    `json:"warnings"`
}

// A ThreadInfo is what a minidump tells of a thread besides its registers.
type ThreadInfo struct {
	ID   int    `json:"id"`
	Name string `json:"name,omitempty"`
	// Crashed marks the thread that the dump is about.
	Crashed bool `json:"crashed,omitempty"`
	// StackLow and StackHigh are the ends of the stack, [low, high), where the thread
	// environment block tells. InDump bytes from StackStart on are in the dump.
	StackLow   Addr   `json:"stack_low,omitempty"`
	StackHigh  Addr   `json:"stack_high,omitempty"`
	StackStart Addr   `json:"stack_start,omitempty"`
	InDump     uint64 `json:"in_dump,omitempty"`
	// TEB is the address of the thread environment block; of Crashpad's dumps of other
	// systems the thread pointer.
	TEB           Addr   `json:"teb,omitempty"`
	Suspended     int    `json:"suspended,omitempty"` // how often
	PriorityClass Addr   `json:"priority_class,omitempty"`
	Priority      int    `json:"priority,omitempty"`
	LastError     string `json:"last_error,omitempty"` // as Thread.LastError
	// Start is the address of its function, Created when it was created; UserTime and
	// KernelTime in seconds.
	Start      Addr      `json:"start,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	UserTime   float64   `json:"user_time,omitempty"`
	KernelTime float64   `json:"kernel_time,omitempty"`
	Exited     bool      `json:"exited,omitempty"`
	// NoRegisters says that the dump does not have its registers.
	NoRegisters bool `json:"no_registers,omitempty"`
	WroteDump   bool `json:"wrote_dump,omitempty"`
}

// A MemoryInfo is what memory a minidump has. Ranges and Regions are listed when that
// was asked for.
type MemoryInfo struct {
	Count   int    `json:"count"`             // of ranges
	Bytes   uint64 `json:"bytes"`             // in the dump
	Missing uint64 `json:"missing,omitempty"` // bytes that the dump should have, but for its end
	// Pages is how many regions of pages the dump describes.
	Pages   int      `json:"pages,omitempty"`
	Ranges  []Range  `json:"ranges,omitempty"`
	Regions []Region `json:"regions,omitempty"`
}

// A Range is memory that the dump has.
type Range struct {
	Start  Addr   `json:"start"`
	End    Addr   `json:"end"`    // first address past it
	Offset Addr   `json:"offset"` // in the dump's file
	Stream string `json:"stream"` // that lists it
}

// A Region is a range of pages as Windows tells of them.
type Region struct {
	Start   Addr   `json:"start"`
	End     Addr   `json:"end"`
	State   string `json:"state"`             // "commit", "reserve", "free"
	Protect string `json:"protect,omitempty"` // "rw-", and "guard", "write-copy" ...
	Type    string `json:"type,omitempty"`    // "private", "mapped", "image"
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
	if len(in.Threads) > 0 {
		j.key("threads")
		j.value(reflect.ValueOf(in.Threads), false)
	}
	if in.Memory != nil {
		j.key("memory")
		j.value(reflect.ValueOf(in.Memory), false)
	}
	j.details(in.Details)
	array(&j, "warnings", in.Warnings, (*jsonWriter).warning)
	j.close('}')
	j.buf = append(j.buf, '\n')
	j.flush()
	return j.err
}

func (j *jsonWriter) details(d *Details) {
	if d != nil {
		j.key("details")
		j.value(reflect.ValueOf(d), false)
	}
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
