package report

import (
	"io"
	"time"
)

// InfoSchema identifies the schema of WriteInfoJSON's document.
const InfoSchema = "corewalk-info/1"

// An Info is what a dump contains, without an analysis of it.
type Info struct {
	// Schema is the constant InfoSchema. WriteInfoJSON writes the constant whatever this field holds.
	Schema   string    `json:"schema"`
	Dump     Dump      `json:"dump"`
	Notes    []Note    `json:"notes"`
	Mappings []Mapping `json:"mappings"`
	Modules  []Module  `json:"modules"`
	// MissingFile is the file that would help most, of those that are not at hand and have frames; nil if there is none. Only if
	// several files are missing, and no server could be asked for them, are stacks walked for it, with the files that are there.
	MissingFile *MissingFile `json:"wanted,omitempty"`
	// Runtimes are the languages' own runtimes that were found.
	Runtimes []Runtime `json:"runtimes,omitempty"`
	// Threads, Memory and Details are for minidumps only.
	Threads []ThreadInfo `json:"threads,omitempty"`
	Memory  *MemoryInfo  `json:"memory,omitempty"`
	Details *Details     `json:"details,omitempty"`
	// At says what is at addresses that were asked for.
	At       []Place   `json:"at,omitempty"`
	Warnings []Warning `json:"warnings"`
}

// A Runtime is a language's own runtime in the process.
type Runtime struct {
	Name string `json:"name"` // "go"
	// Description says which version it is, and how it is known where that keeps things: "go1.26.4, layout from the
	// table of go1.26.4".
	Description string `json:"description,omitempty"`
	Tasks       int    `json:"tasks"` // how many could be listed: goroutines, without threads
	// Problem says why its tasks could not be listed, or not all of them; empty if they could.
	Problem string `json:"problem,omitempty"`
}

// A ThreadInfo is what a minidump says about a thread besides its registers.
type ThreadInfo struct {
	ID   int    `json:"id"`             // identifier of the thread
	Name string `json:"name,omitempty"` // name of the thread
	// Crashed marks the thread that the exception of the dump belongs to.
	Crashed bool `json:"crashed,omitempty"`
	// StackLow and StackHigh are the bounds of the stack, [low, high), if the thread environment block tells
	// them. The dump has InDump bytes from StackStart on.
	StackLow   Addr   `json:"stack_low,omitempty"`
	StackHigh  Addr   `json:"stack_high,omitempty"`
	StackStart Addr   `json:"stack_start,omitempty"`
	InDump     uint64 `json:"in_dump,omitempty"`
	// TEB is the address of the thread environment block; in Crashpad's dumps of other systems, the thread
	// pointer.
	TEB           Addr   `json:"teb,omitempty"`
	Suspended     int    `json:"suspended,omitempty"`      // how often
	PriorityClass Addr   `json:"priority_class,omitempty"` // of the process, as Windows numbers it
	Priority      int    `json:"priority,omitempty"`       // of the thread, within its class
	LastError     string `json:"last_error,omitempty"`     // as Thread.LastError
	// Start is the address of the thread's function, Created the time of its creation. UserTime and KernelTime
	// are in seconds.
	Start      Addr      `json:"start,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	UserTime   float64   `json:"user_time,omitempty"`
	KernelTime float64   `json:"kernel_time,omitempty"`
	Exited     bool      `json:"exited,omitempty"` // the thread had ended
	// NoRegisters says that the dump does not have the thread's registers.
	NoRegisters bool `json:"no_registers,omitempty"`
	WroteDump   bool `json:"wrote_dump,omitempty"` // the thread wrote the dump
}

// A MemoryInfo says which memory a minidump has. Ranges and Regions are listed only if requested.
type MemoryInfo struct {
	Count   int    `json:"count"`             // of ranges
	Bytes   uint64 `json:"bytes"`             // in the dump
	Missing uint64 `json:"missing,omitempty"` // bytes lost because the dump is truncated
	// Pages is how many page regions the dump describes.
	Pages   int      `json:"pages,omitempty"`
	Ranges  []Range  `json:"ranges,omitempty"`
	Regions []Region `json:"regions,omitempty"`
}

// A Range is memory that the dump has.
type Range struct {
	Start  Addr   `json:"start"`  // lowest address
	End    Addr   `json:"end"`    // first address past it
	Offset Addr   `json:"offset"` // in the dump's file
	Stream string `json:"stream"` // the stream that lists it
}

// A Region is a range of pages as Windows describes it.
type Region struct {
	Start   Addr   `json:"start"`             // lowest address
	End     Addr   `json:"end"`               // first address past it
	State   string `json:"state"`             // "commit", "reserve", "free"
	Protect string `json:"protect,omitempty"` // "rw-", and "guard", "write-copy" ...
	Type    string `json:"type,omitempty"`    // "private", "mapped", "image"
}

// A Note is a note of an ELF core, or a stream of a minidump.
type Note struct {
	Owner  string `json:"owner"`            // "CORE", "LINUX"; "MDMP" for a stream
	Type   string `json:"type"`             // "NT_PRSTATUS"
	Size   uint64 `json:"size"`             // bytes, without the header
	Thread int    `json:"thread,omitempty"` // identifier of the thread that the note is about
	Detail string `json:"detail,omitempty"` // what is special about it
}

// A Mapping is a range of the process's memory.
type Mapping struct {
	Start  Addr   `json:"start"`          // lowest address
	End    Addr   `json:"end"`            // first address past it
	Perm   string `json:"perm"`           // "r-x"
	Offset Addr   `json:"offset"`         // in the file, in bytes
	File   string `json:"file,omitempty"` // empty for anonymous memory
	// FileBytes is the file's exact name in base64, if it is not UTF-8.
	FileBytes string `json:"file_bytes,omitempty"`
	InDump    uint64 `json:"in_dump"` // bytes of it that the dump holds
}

// WriteInfoJSON writes in as one JSON document, laid out like WriteJSON's. The error is w's.
func WriteInfoJSON(w io.Writer, in *Info) error {
	j := jsonWriter{w: w}
	mine := *in
	mine.Schema = InfoSchema
	j.putInfo(&mine)
	j.buf = append(j.buf, '\n')
	j.flush()
	return j.err
}
