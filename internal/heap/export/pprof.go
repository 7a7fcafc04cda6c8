package export

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"

	"github.com/corewalk/corewalk/internal/format/pprof"
)

// maxStacks is how many different stacks a profile has.
const maxStacks = 50_000

// WritePprof writes the heap as a profile in pprof's format, compressed with gzip: the number and the bytes of all objects. The functions of its stacks
// are types: the innermost is that of the objects, its callers are what keeps them alive, up to a root, or "(unreached)".
func WritePprof(ctx context.Context, w io.Writer, h *Heap) error {
	return writePprof(ctx, w, h, maxStacks)
}

func writePprof(ctx context.Context, w io.Writer, h *Heap, limit int) error {
	o, err := owners(ctx, h, limit, true, nil)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	out := bufio.NewWriterSize(z, 64<<10)
	var table pprof.Strings
	var m, sub, ids, values pprof.Message // used again
	flush := func(field int, part pprof.Message) {
		m = m[:0]
		m.Message(field, part)
		out.Write(m) // Flush returns its error
	}
	space := table.Value("inuse_space", "bytes")
	flush(pprof.ProfileSampleType, table.Value("inuse_objects", "count"))
	flush(pprof.ProfileSampleType, space)
	for i := range o.entries {
		if err := stopped(ctx, i); err != nil {
			return err
		}
		e := &o.entries[i]
		if e.count == 0 {
			continue
		}
		sub, ids, values = sub[:0], ids[:0], values[:0]
		for at := uint32(i); at != 0; at = o.entries[at].parent {
			ids.Varint(uint64(o.entries[at].class) + 1)
		}
		values.Varint(e.count)
		values.Varint(e.bytes)
		sub.Bytes(pprof.SampleLocation, ids)
		sub.Bytes(pprof.SampleValue, values)
		flush(pprof.ProfileSample, sub)
	}
	// pprof names the profile after the first mapping.
	sub = sub[:0]
	sub.Int(pprof.MappingID, 1)
	sub.Int(pprof.MappingFile, table.Number(h.text(h.Program)))
	for _, f := range []int{pprof.MappingHasFunctions, pprof.MappingHasFiles, pprof.MappingHasLines, pprof.MappingHasInlines} {
		sub.Int(f, 1) // all is known: there is nothing to look up
	}
	flush(pprof.ProfileMapping, sub)
	for c, name := range o.names {
		id := uint64(c) + 1
		sub, ids = sub[:0], ids[:0]
		ids.Int(pprof.LineFunction, id)
		sub.Int(pprof.LocationID, id)
		sub.Int(pprof.LocationMapping, 1)
		sub.Int(pprof.LocationAddress, id)
		sub.Message(pprof.LocationLine, ids)
		flush(pprof.ProfileLocation, sub)
		// pprof takes the arguments of templates from names that are as linkers have them, and then types are no longer told apart.
		system := "type " + name
		if o.rooted[c] {
			system = "root " + name
		}
		sub = sub[:0]
		sub.Int(pprof.FunctionID, id)
		sub.Int(pprof.FunctionName, table.Number(name))
		sub.Int(pprof.FunctionSystem, table.Number(system))
		flush(pprof.ProfileFunction, sub)
	}
	m = m[:0]
	m.Message(pprof.ProfilePeriodType, space)
	m.Int(pprof.ProfilePeriod, 1)
	if !h.Time.IsZero() {
		m.Int(pprof.ProfileTimeNanos, uint64(h.Time.UnixNano()))
	}
	m.Int(pprof.ProfileComment, table.Number(h.title()))
	m.Int(pprof.ProfileDefaultSampleType, table.Number("inuse_space"))
	table.Write(&m)
	out.Write(m)
	if err := out.Flush(); err != nil {
		return err
	}
	return z.Close()
}
