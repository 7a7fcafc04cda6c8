package slim

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/codeview"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpwrite"
)

// errOverlap means that streams of a minidump refer to the same bytes again and again.
var errOverlap = errors.New("the minidump is damaged: its streams refer to more bytes than it has")

// A copier writes the streams of a minidump anew.
type copier struct {
	f       *minidump.File
	d       *dumpwrite.Dump
	red     *redactor // nil keeps everything
	left    int       // how many bytes may still be written
	copied  map[dumpwrite.Loc]dumpwrite.Loc
	patches []patch
	dropped []string
}

// A patch is where the description of a stack is in the new file: its start, size and offset.
type patch struct {
	at              uint32
	start, size, sp uint64
}

// spend charges bytes that are about to be written.
func (c *copier) spend(n int) bool {
	if c.left >= 0 {
		c.left -= n + 16
	}
	return c.left >= 0
}

// blob copies bytes.
func (c *copier) blob(l dumpwrite.Loc) dumpwrite.Loc {
	if l.Size == 0 || l.Off == 0 {
		return dumpwrite.Loc{}
	}
	to, ok := c.copied[l]
	if b := c.f.At(l.Off, l.Size); !ok && c.spend(len(b)) {
		to = c.d.Blob(b)
		c.copied[l] = to
	}
	return to
}

// text copies a MINIDUMP_STRING as change makes it.
func (c *copier) text(off uint32, change func(string) string) uint32 {
	s := ""
	if off != 0 {
		s = c.f.Text(uint64(off))
	}
	if c.red != nil {
		s = change(s)
	}
	if off == 0 || !c.spend(2*len(s)+8) {
		return 0
	}
	return c.d.String(s)
}

func (c *copier) u32(b []byte, at int) uint32 { return c.f.ByteOrder().Uint32(b[at:]) }
func (c *copier) u64(b []byte, at int) uint64 { return c.f.ByteOrder().Uint64(b[at:]) }
func (c *copier) put(b []byte, at int, v uint32) {
	c.f.ByteOrder().PutUint32(b[at:], v)
}
func (c *copier) loc(b []byte, at int) dumpwrite.Loc {
	return dumpwrite.Loc{Size: c.u32(b, at), Off: c.u32(b, at+4)}
}
func (c *copier) putLoc(b []byte, at int, l dumpwrite.Loc) {
	c.put(b, at, l.Size)
	c.put(b, at+4, l.Off)
}

// streams writes all streams but those of the memory, and reports whether a Memory64List was among them.
func (c *copier) streams() (wide bool, err error) {
	done := map[minidump.StreamType]bool{}
	for _, s := range c.f.Streams {
		if use, ok := c.f.Stream(s.Type); ok {
			s = use
		}
		if s.Type == minidump.Unused || len(s.Data) == 0 || done[s.Type] {
			continue
		}
		done[s.Type] = true
		if !c.spend(len(s.Data)) {
			break
		}
		switch s.Type {
		case minidump.MemoryListStream:
		case minidump.Memory64ListStream:
			wide = true
		default:
			c.stream(s)
		}
	}
	if c.left < 0 {
		return wide, errOverlap
	}
	return wide, nil
}

func (c *copier) stream(s minidump.Stream) {
	b := slices.Clone(s.Data)
	switch s.Type {
	case minidump.ThreadListStream:
		c.threads(s, 48)
		return
	case minidump.ThreadExListStream:
		c.threads(s, 64)
		return
	case minidump.ModuleListStream, minidump.WineUnixModulesStream:
		b = c.modules(s)
	case minidump.SystemInfoStream:
		if len(b) >= 28 {
			c.put(b, 24, c.text(c.u32(b, 24), same16))
		}
	case minidump.ExceptionStream:
		b = c.exception(b)
	case minidump.ThreadNamesStream:
		b = c.threadNames(s)
	case minidump.UnloadedModuleListStream:
		b = c.unloaded(s)
	case minidump.HandleDataStream:
		b = c.handles(s)
	case minidump.LinuxDSODebugStream:
		b = c.links(b)
	case minidump.CrashpadInfoStream:
		b = c.crashpad()
	case minidump.MozillaMacCrashStream:
		b = c.macCrash(b)
	case minidump.MozillaMacBootStream:
		if c.red != nil || len(b) < 12 {
			b = nil
		} else {
			c.f.ByteOrder().PutUint64(b[4:], uint64(c.text(uint32(c.u64(b, 4)), same16)))
		}
	default:
		if c.red != nil {
			b = c.plain(s.Type, b)
		}
	}
	if b == nil {
		c.dropped = append(c.dropped, s.Type.String())
		return
	}
	c.d.Stream(uint32(s.Type), b)
}

// plain returns what stays of a stream that refers to nothing, when values are blanked; nil for nothing.
func (c *copier) plain(t minidump.StreamType, b []byte) []byte {
	switch t {
	case minidump.ThreadInfoListStream, minidump.MemoryInfoListStream, minidump.SystemMemoryInfoStream, minidump.ProcessVMCountersStream,
		minidump.FunctionTableStream, minidump.BreakpadInfoStream, minidump.LinuxCPUInfoStream, minidump.LinuxProcStatusStream,
		minidump.LinuxLSBReleaseStream, minidump.LinuxAuxvStream, minidump.MozillaLinuxLimitsStream:
		return b
	case minidump.MiscInfoStream:
		const zone, zoneSize = 60, 172 // TIME_ZONE_INFORMATION says where the machine is
		if len(b) > zone {
			clear(b[zone:min(len(b), zone+zoneSize)])
		}
		return b
	case minidump.AssertionInfoStream:
		const chars = 256 // three texts of so many bytes: expression, function, file
		for _, at := range []int{0, 2 * chars} {
			for i := at; i+2 <= min(len(b), at+chars); i += 2 {
				if b[i] != 0 || b[i+1] != 0 {
					c.f.ByteOrder().PutUint16(b[i:], Blank)
					c.red.counts.Bytes += 2
				}
			}
		}
		return b
	case minidump.LinuxCmdLineStream:
		program, rest, _ := bytes.Cut(b, []byte{0})
		name := BlankPath(string(program))
		c.red.letters(rest)
		return append(append([]byte(name), 0), rest...)
	case minidump.LinuxMapsStream:
		return c.maps(b)
	}
	return nil
}

// letters blanks bytes of text.
func (r *redactor) letters(b []byte) {
	for i := range b {
		if b[i] != 0 {
			b[i] = Blank
			r.counts.Bytes++
		}
	}
}

// blanked returns a text of the same length.
func (c *copier) blanked(s string) string {
	b := []byte(s)
	c.red.letters(b)
	return string(b)
}

func same16(s string) string { return s }

// systemDirs are where systems have their own files: paths in them say nothing of whose machine it is.
const systemDirs = "/usr/ /lib/ /lib32/ /lib64/ /bin/ /sbin/ /system/ /vendor/ /apex/ /System/ " +
	`c:\windows\ c:\program\x20files`

// keptPart returns what is kept of the path of a module: all of it in directories of the system, otherwise its base name.
func keptPart(path string) string {
	if strings.HasPrefix(path, "[") || strings.HasPrefix(path, "linux-") || strings.Contains(path, "/..") || strings.Contains(path, `\..`) {
		return base(path)
	}
	for _, dir := range strings.Fields(systemDirs) {
		dir = strings.ReplaceAll(dir, `\x20`, " ")
		if strings.HasPrefix(path, dir) && dir[0] == '/' || dir[0] != '/' && len(path) > len(dir) && strings.EqualFold(path[:len(dir)], dir) {
			if dir != "/usr/" || !strings.HasPrefix(path, "/usr/home/") {
				return path
			}
		}
	}
	return base(path)
}

func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// BlankPath replaces the directories of a path that is not of the system by one x.
func BlankPath(path string) string {
	kept := keptPart(path)
	if len(kept) == len(path) {
		return path
	}
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		return path[:1+len(drive(path))][:len(drive(path))] + string(path[i]) + "x" + string(path[i]) + kept
	}
	return kept
}

// drive returns "C:" at the beginning of a path.
func drive(path string) string {
	if len(path) >= 2 && path[1] == ':' {
		return path[:2]
	}
	return ""
}

// maps rewrites the lines of /proc/PID/maps: paths of files that are not modules are blanked.
func (c *copier) maps(b []byte) []byte {
	isModule := map[string]bool{}
	for i := range c.f.Modules {
		isModule[c.f.Modules[i].Path] = true
	}
	var out []byte
	for line := range bytes.Lines(b) {
		text := strings.TrimRight(string(line), "\r\n\x00")
		m, ok := minidump.ParseMap(text)
		if !ok {
			continue
		}
		path := m.Path
		bare := strings.TrimSuffix(path, " (deleted)")
		switch {
		case isModule[path] || isModule[bare] || keptPart(path) == path:
			path = BlankPath(path)
		case path != "":
			path = "/x"
		}
		out = append(append(append(out, text[:len(text)-len(m.Path)]...), path...), '\n')
	}
	return out
}

// context copies a CONTEXT record.
func (c *copier) context(l dumpwrite.Loc) dumpwrite.Loc {
	if c.red == nil || l.Size == 0 || l.Off == 0 {
		return c.blob(l)
	}
	to, ok := c.copied[l]
	if b := c.f.At(l.Off, l.Size); !ok && c.spend(len(b)) {
		to = c.d.Blob(c.red.context(c.f, b))
		c.copied[l] = to
	}
	return to
}

func (c *copier) threads(s minidump.Stream, size int) {
	body, n := c.f.Entries(s, size)
	b := c.d.U32(nil, uint32(n))
	b = append(b, body[:n*size]...)
	var list []patch
	for i := range n {
		at := 4 + i*size
		rec := c.loc(b, at+40)
		p := patch{at: uint32(at + 24), start: c.u64(b, at+24), size: uint64(c.u32(b, at+32))}
		if ctx, err := c.f.DecodeContext(c.f.At(rec.Off, rec.Size)); err == nil {
			p.sp, _ = ctx.Regs.Get(ctx.Arch.SP)
		}
		if p.size > 0 {
			list = append(list, p)
		}
		if size == 64 {
			if p := (patch{at: uint32(at + 48), start: c.u64(b, at+48), size: uint64(c.u32(b, at+56))}); p.size > 0 {
				list = append(list, p)
			}
		}
		c.putLoc(b, at+40, c.context(rec))
	}
	at := c.d.Stream(uint32(s.Type), b)
	for _, p := range list {
		p.at += at.Off
		c.patches = append(c.patches, p)
	}
}

func (c *copier) modules(s minidump.Stream) []byte {
	const size = 108
	body, n := c.f.Entries(s, size)
	b := c.d.U32(nil, uint32(n))
	b = append(b, body[:n*size]...)
	for i := range n {
		at := 4 + i*size
		c.put(b, at+20, c.text(c.u32(b, at+20), BlankPath))
		c.putLoc(b, at+76, c.codeView(c.loc(b, at+76)))
		misc := c.loc(b, at+84)
		if c.red != nil { // names the debug file
			misc = dumpwrite.Loc{}
		}
		c.putLoc(b, at+84, c.blob(misc))
	}
	return b
}

// codeView copies the record that names a debug file.
func (c *copier) codeView(l dumpwrite.Loc) dumpwrite.Loc {
	b := c.f.At(l.Off, l.Size)
	if c.red == nil || len(b) < 4 || l.Off == 0 {
		return c.blob(l)
	}
	if id := string(b[:4]); id == "LEpB" || id == "BpEL" {
		return c.blob(l)
	}
	r, err := codeview.Parse(b, c.f.ByteOrder())
	if err != nil {
		return dumpwrite.Loc{}
	}
	head := 24
	if r.Old {
		head = 16
	}
	out := append(slices.Clone(b[:min(head, len(b))]), base(string(r.Path))...)
	if !c.spend(len(out)) {
		return dumpwrite.Loc{}
	}
	return c.d.Blob(append(out, 0))
}

// Codes of exceptions of which the parameters are an access and its address.
const accessViolation, inPageError = 0xc0000005, 0xc0000006

func (c *copier) exception(b []byte) []byte {
	if len(b) < 168 {
		return nil
	}
	if code := c.u32(b, 8); c.red != nil && code != accessViolation && code != inPageError {
		for i := 40; i < 160; i += 8 {
			if v := c.u64(b, i); !c.red.isAddress(v) && (int64(v) < leastNumber || int64(v) > mostNumber) {
				c.red.letters(b[i : i+8])
			}
		}
	}
	c.putLoc(b, 160, c.context(c.loc(b, 160)))
	return b
}

func (c *copier) threadNames(s minidump.Stream) []byte {
	const size = 12
	body, n := c.f.Entries(s, size)
	b := c.d.U32(nil, uint32(n))
	b = append(b, body[:n*size]...)
	for i := range n {
		at := 4 + i*size
		to := uint32(0)
		if off := c.u64(b, at+4); off < 1<<32 {
			to = c.text(uint32(off), same16)
		}
		c.f.ByteOrder().PutUint64(b[at+4:], uint64(to))
	}
	return b
}

func (c *copier) unloaded(s minidump.Stream) []byte {
	const size = 24
	body, n, stride := c.f.SizedEntries(s, 4, size)
	b := c.d.U32(nil, 12, size, uint32(n))
	for i := range n {
		e := slices.Clone(body[i*stride : i*stride+size])
		c.put(e, 20, c.text(c.u32(e, 20), BlankPath))
		b = append(b, e...)
	}
	return b
}

// handles writes the handles without the information of each kind of object.
func (c *copier) handles(s minidump.Stream) []byte {
	const size = 32
	if len(s.Data) < 16 {
		return nil
	}
	body, n, stride := c.f.SizedEntries(s, 4, size)
	b := c.d.U32(nil, 16, size, uint32(n), 0)
	for i := range n {
		e := slices.Clone(body[i*stride : i*stride+size])
		c.put(e, 8, c.text(c.u32(e, 8), same16))
		c.put(e, 12, c.text(c.u32(e, 12), c.blanked))
		b = append(b, e...)
	}
	if stride > size && n > 0 {
		c.dropped = append(c.dropped, "details of handles")
	}
	return b
}

// links writes the dynamic linker's list.
func (c *copier) links(b []byte) []byte {
	off, n, size, name := c.f.LinkMaps(b)
	if size == 0 {
		return nil
	}
	list := slices.Clone(c.f.At(off, uint32(n*size)))
	for i := range n {
		c.put(list, i*size+name, c.text(c.u32(list, i*size+name), BlankPath))
	}
	at := dumpwrite.Loc{}
	if c.spend(len(list)) {
		at = c.d.Blob(list)
	}
	c.put(b, 4, at.Off)
	c.put(b, 8, uint32(n))
	return b
}

// crashpad writes the annotations. Blanking their values leaves their names.
func (c *copier) crashpad() []byte {
	p := c.f.Crashpad
	if p == nil {
		return nil
	}
	value := func(b []byte) uint32 {
		if b = slices.Clone(b); c.red != nil {
			c.red.letters(b)
		}
		if !c.spend(len(b)) {
			return 0
		}
		return c.d.UTF8(b)
	}
	key := func(s string) uint32 {
		if !c.spend(len(s)) {
			return 0
		}
		return c.d.UTF8([]byte(s))
	}
	dictionary := func(list []minidump.Annotation) dumpwrite.Loc {
		if len(list) == 0 {
			return dumpwrite.Loc{}
		}
		b := c.d.U32(nil, uint32(len(list)))
		for _, a := range list {
			b = c.d.U32(b, key(a.Key), value([]byte(a.Value)))
		}
		return c.d.Blob(b)
	}
	client := p.ClientID
	if c.red != nil { // says whose machine it is
		clear(client[:])
	}
	simple := dictionary(p.Annotations)
	mods := c.d.U32(nil, uint32(len(p.Modules)))
	for _, m := range p.Modules {
		texts := c.d.U32(nil, uint32(len(m.List)))
		for _, t := range m.List {
			texts = c.d.U32(texts, value([]byte(t)))
		}
		objects := c.d.U32(nil, uint32(len(m.Objects)))
		for _, o := range m.Objects {
			objects = c.d.U32(c.d.U16(c.d.U32(objects, key(o.Name)), o.Type, 0), value(o.Value))
		}
		e := c.d.U32(nil, 1)
		for _, l := range []dumpwrite.Loc{c.d.Blob(texts), dictionary(m.Annotations), c.d.Blob(objects)} {
			e = c.d.U32(e, l.Size, l.Off)
		}
		at := c.d.Blob(e)
		mods = c.d.U32(mods, uint32(m.Index), at.Size, at.Off)
	}
	list := c.d.Blob(mods)
	b := c.d.U32(nil, p.Version)
	b = append(append(b, c.guid(p.ReportID)...), c.guid(client)...)
	b = c.d.U32(b, simple.Size, simple.Off, list.Size, list.Off, 0)
	return c.d.U64(b, p.AddressMask)
}

// guid returns a GUID in the dump's byte order.
func (c *copier) guid(g codeview.GUID) []byte {
	turned := codeview.MakeGUID(g[:], c.f.ByteOrder())
	return turned[:]
}

func (c *copier) macCrash(b []byte) []byte {
	const records = 20
	start := 0
	if len(b) >= 12 {
		start = int(min(c.u32(b, 8), 1<<20))
	}
	for at, n := 12, 0; at+8 <= len(b) && n < records; at, n = at+8, n+1 {
		l := c.loc(b, at)
		rec := slices.Clone(c.f.At(l.Off, l.Size))
		if c.red != nil && start < len(rec) {
			c.red.letters(rec[start:])
		}
		to := dumpwrite.Loc{}
		if l.Off != 0 && c.spend(len(rec)) {
			to = c.d.Blob(rec)
		}
		c.putLoc(b, at, to)
	}
	return b
}
