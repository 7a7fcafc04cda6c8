package report

import (
	"fmt"
	"strings"
)

// A Place says what is at an address of the process's memory.
type Place struct {
	Address Addr `json:"address"` // that was asked for
	// Mapping is the memory that the process had there; nil if it had none.
	Mapping *PlaceMapping `json:"mapping,omitempty"`
	// Kind is what the memory is, where that is known: one of the Place constants.
	Kind string `json:"kind,omitempty"`
	// Module is the module there, and Offset the address in its file.
	Module string `json:"module,omitempty"`
	Offset Addr   `json:"offset,omitempty"`
	// Function is the function there, and FunctionOffset how far in it, in bytes.
	Function       string `json:"function,omitempty"`
	FunctionOffset uint64 `json:"function_offset,omitempty"`
	// Variable is the variable there, with the path of the part, "config.name.data"; Type is the part's. It is of the frame, or of the
	// program. Without debugging information it is a symbol and how far the address is behind it, "config+24".
	Variable string `json:"variable,omitempty"`
	Type     string `json:"type,omitempty"`
	// Thread is the thread whose stack it is on, and Frame the number of the frame there; nil if that is not known.
	Thread int  `json:"thread,omitempty"`
	Frame  *int `json:"frame,omitempty"`
	// Block is the block of an allocator that has it.
	Block *Block `json:"block,omitempty"`
}

// A PlaceMapping is the mapping that has an address.
type PlaceMapping struct {
	Start  Addr   `json:"start"`          // lowest address
	End    Addr   `json:"end"`            // first address past it
	Perm   string `json:"perm"`           // "r-x"
	Offset Addr   `json:"offset"`         // of Start in the file, in bytes
	File   string `json:"file,omitempty"` // empty for memory without a file
}

// The values of Place.Kind.
const (
	PlaceCode        = "code"
	PlaceData        = "data"         // of a module
	PlaceUnusedStack = "unused stack" // below the stack pointer of a thread
	PlaceStack       = "stack"        // of a thread
	PlaceHeap        = "heap"         // of an allocator
	PlaceGuard       = "guard page"   // without access, beside memory in use
	PlaceVDSO        = "vdso"         // of the kernel
	PlaceFile        = "mapped file"  // that is no module
	PlaceShared      = "shared memory"
	PlaceNone        = "not mapped"
)

// A Block is memory that an allocator handed out, or could.
type Block struct {
	Allocator string `json:"allocator"` // "glibc malloc"
	Start     Addr   `json:"start"`     // lowest address
	Size      uint64 `json:"size"`      // bytes that the program may use
	Offset    uint64 `json:"offset"`    // of the address in it, in bytes
	// Free says that the program has given it back; List is where the allocator has it then: "tcache", "unsorted bin".
	Free bool   `json:"free,omitempty"`
	List string `json:"list,omitempty"`
	// Type is that of the object of a language that it holds, where the object says it: "__main__.Order"; "" if it is not known.
	Type string `json:"type,omitempty"`
	// Owner is a pointer that leads to the block: "g_cache->items[3]"; "" if none with a name is known.
	Owner string `json:"owner,omitempty"`
	// Allocated and Freed are the calls by which the program got the block, and gave it back, where the allocator keeps them.
	Allocated *BlockEvent `json:"allocated,omitempty"`
	Freed     *BlockEvent `json:"freed,omitempty"`
}

// A BlockEvent is a call of an allocator.
type BlockEvent struct {
	Thread int         `json:"thread"`          // as the allocator counts them: 0 is the first
	By     string      `json:"by,omitempty"`    // what was called, where the allocator keeps it: "malloc", "operator new[]"
	Calls  []BlockCall `json:"calls,omitempty"` // innermost first, without the allocator's own function; none if they are not known
}

// A BlockCall is a function that was active at a BlockEvent.
type BlockCall struct {
	Address  Addr   `json:"address"`            // of the instruction after the call
	Function string `json:"function,omitempty"` // as it is named in stacks
	Source   Source `json:"source,omitzero"`
}

// Text says where it was: "in grow at a.c:3 by thread T1".
func (e *BlockEvent) Text() string {
	if len(e.Calls) == 0 {
		return "by calls that are not known"
	}
	c := e.Calls[0]
	text := fmt.Sprintf("at %#x", uint64(c.Address))
	if c.Function != "" {
		text = "in " + c.Function
	}
	if c.Source.File != "" {
		text += fmt.Sprintf(" at %s:%d", Base(c.Source.File), c.Source.Line)
	}
	if e.Thread != 0 {
		text += fmt.Sprintf(" by thread T%d", e.Thread)
	}
	return text
}

// Text says in one clause what is at the address.
func (p *Place) Text() string {
	var b strings.Builder
	switch k := p.Block; {
	case p.Function != "":
		b.WriteString("in " + plus(p.Function, p.FunctionOffset))
	case p.Variable != "" && p.Thread != 0:
		fmt.Fprintf(&b, "in %s of frame #%d, thread %d", p.Variable, *p.Frame, p.Thread)
	case p.Variable != "":
		b.WriteString("in " + p.Variable)
	case p.Kind == PlaceUnusedStack:
		fmt.Fprintf(&b, "below the stack of thread %d", p.Thread)
	case p.Thread != 0:
		fmt.Fprintf(&b, "on the stack of thread %d", p.Thread)
		if p.Frame != nil {
			fmt.Fprintf(&b, ", frame #%d", *p.Frame)
		}
	case k != nil:
		what := "in a block of"
		if k.Free {
			what = "in a freed block of"
		}
		if at, end := p.Address, k.Start+Addr(k.Size); k.Allocated != nil && (at < k.Start || at >= end) {
			n, side := uint64(k.Start-at), "before"
			if at >= end {
				n, side = uint64(at-end), "after"
			}
			what = fmt.Sprintf("%d bytes %s %s", n, side, strings.TrimPrefix(what, "in "))
		}
		fmt.Fprintf(&b, "%s %d bytes at %#x", what, k.Size, uint64(k.Start))
		if k.Type != "" {
			b.WriteString(", " + k.Type)
		}
		if k.Owner != "" {
			b.WriteString(" (" + k.Owner + ")")
		}
		if k.Offset != 0 {
			fmt.Fprintf(&b, ", offset %d", k.Offset)
		}
		if k.List != "" {
			b.WriteString(", in its allocator's " + k.List)
		}
		if k.Allocated != nil {
			b.WriteString(", allocated " + k.Allocated.Text())
		}
		if k.Freed != nil {
			b.WriteString(", freed " + k.Freed.Text())
		}
		return b.String() + ", " + k.Allocator
	case p.Kind == PlaceNone:
		return "in no memory that the process had"
	case p.Kind == PlaceGuard:
		b.WriteString("in a guard page")
	case p.Module != "" && p.Kind == PlaceData:
		return fmt.Sprintf("in %s+%#x", Base(p.Module), uint64(p.Offset))
	case p.Mapping != nil && p.Mapping.File != "":
		b.WriteString("in " + p.Mapping.File)
		if p.Module == "" {
			fmt.Fprintf(&b, " at %#x", uint64(p.Mapping.Offset+p.Address-p.Mapping.Start))
		}
	case p.Kind == PlaceVDSO:
		b.WriteString("in the kernel's vdso")
	case p.Mapping != nil:
		b.WriteString("in memory without a file")
	default:
		return "not known"
	}
	if p.Type != "" {
		b.WriteString(", " + p.Type)
	}
	if p.Module != "" {
		fmt.Fprintf(&b, ", %s+%#x", Base(p.Module), uint64(p.Offset))
	}
	return b.String()
}

func plus(name string, off uint64) string {
	if off == 0 {
		return name
	}
	return fmt.Sprintf("%s+%d", name, off)
}

// String is Text behind the address, and before the mapping.
func (p *Place) String() string {
	text := fmt.Sprintf("%#x is %s", uint64(p.Address), p.Text())
	if m := p.Mapping; m != nil {
		text += fmt.Sprintf(", mapping %#x-%#x %s", uint64(m.Start), uint64(m.End), m.Perm)
	}
	return text
}
