package minidump

import "github.com/corewalk/corewalk/internal/format/codeview"

// Crashpad is what Crashpad adds to a dump: identifiers and annotations of the program and
// its modules.
type Crashpad struct {
	Version            uint32
	ReportID, ClientID codeview.GUID
	Annotations        []Annotation
	Modules            []CrashpadModule
	// AddressMask has the bits of a pointer that are not part of the address, such as the
	// signatures and tags of arm64; 0 means none.
	AddressMask uint64
}

// An Annotation is a key and its value.
type Annotation struct{ Key, Value string }

// A CrashpadModule holds the annotations of one module.
type CrashpadModule struct {
	Index       int // index in File.Modules
	List        []string
	Annotations []Annotation
	Objects     []AnnotationObject
}

// An AnnotationObject is an annotation with a type: 1 is text; types from 0x8000 on are the
// program's own.
type AnnotationObject struct {
	Name  string
	Type  uint16
	Value []byte
}

const annotationText = 1

// annotationCost is about what an annotation takes in a report, beside its text: modules that share a list make many
// of few bytes.
const annotationCost = 128

// Text returns the value of a text annotation.
func (a AnnotationObject) Text() (string, bool) {
	return string(a.Value), a.Type == annotationText
}

// readCrashpad decodes MinidumpCrashpadInfo, whose size tells which fields it has.
func (f *File) readCrashpad(s []byte) {
	c := f.cursor(s)
	p := &Crashpad{Version: c.U32(), ReportID: f.readGUID(&c), ClientID: f.readGUID(&c)}
	simple, modules := readLocation(&c), readLocation(&c)
	if c.Error != nil || p.Version == 0 {
		f.warnf("stream CrashpadInfo: cannot decode %d bytes of version %d", len(s), p.Version)
		return
	}
	p.Annotations = f.dictionary(simple)
	p.Modules = f.crashpadModules(modules)
	if c.Skip(4); c.Len() >= 8 {
		p.AddressMask = c.U64()
		if p.AddressMask&(1<<32-1) != 0 {
			f.warnf("stream CrashpadInfo: address mask %#x covers address bits: ignored", p.AddressMask)
			p.AddressMask = 0
		}
	}
	f.Crashpad = p
}

// counted finds the entries of a Crashpad list, which begins with a count.
func (f *File) counted(l location, size int) (body []byte, n int) {
	b := f.bytes(l)
	if len(b) < 4 {
		return nil, 0
	}
	c := f.cursor(b)
	return b[4:], f.clamp(CrashpadInfoStream, uint64(c.U32()), len(b)-4, size)
}

// dictionary decodes MinidumpSimpleStringDictionary.
func (f *File) dictionary(l location) []Annotation {
	body, n := f.counted(l, 8)
	var list []Annotation
	for i := 0; i < n && f.spend(annotationCost); i++ {
		c := f.cursor(body[8*i : 8*i+8])
		key, ok1 := f.utf8At(uint64(c.U32()))
		value, ok2 := f.utf8At(uint64(c.U32()))
		if !ok1 && !ok2 {
			break
		}
		list = append(list, Annotation{key, value})
	}
	return list
}

// crashpadModules decodes MinidumpModuleCrashpadInfoList.
func (f *File) crashpadModules(l location) []CrashpadModule {
	body, n := f.counted(l, 12)
	var list []CrashpadModule
	for i := range n {
		c := f.cursor(body[12*i : 12*i+12])
		m := CrashpadModule{Index: int(c.U32())}
		e := f.cursor(f.bytes(readLocation(&c)))
		version := e.U32()
		texts, simple := readLocation(&e), readLocation(&e)
		if e.Error != nil || version == 0 || !f.spend(12) {
			f.warnf("stream CrashpadInfo: cannot decode the entry for module %d", m.Index)
			continue
		}
		m.List, m.Annotations = f.strings(texts), f.dictionary(simple)
		if objects := readLocation(&e); e.Error == nil {
			m.Objects = f.annotationObjects(objects)
		}
		list = append(list, m)
	}
	return list
}

// strings decodes a MinidumpRVAList of strings.
func (f *File) strings(l location) []string {
	body, n := f.counted(l, 4)
	var list []string
	for i := 0; i < n && f.spend(annotationCost); i++ {
		c := f.cursor(body[4*i : 4*i+4])
		if s, ok := f.utf8At(uint64(c.U32())); ok {
			list = append(list, s)
		}
	}
	return list
}

// annotationObjects decodes MinidumpAnnotationList.
func (f *File) annotationObjects(l location) []AnnotationObject {
	body, n := f.counted(l, 12)
	var list []AnnotationObject
	for i := 0; i < n && f.spend(annotationCost); i++ {
		c := f.cursor(body[12*i : 12*i+12])
		name, ok := f.utf8At(uint64(c.U32()))
		o := AnnotationObject{Name: name, Type: c.U16()}
		c.Skip(2)
		if !ok || o.Type == 0 {
			continue
		}
		o.Value, _ = f.blobAt(uint64(c.U32()))
		list = append(list, o)
	}
	return list
}

// Annotation returns the value of a key, looking first at the program, then at the modules.
func (p *Crashpad) Annotation(key string) (string, bool) {
	for _, a := range p.Annotations {
		if a.Key == key {
			return a.Value, true
		}
	}
	for _, m := range p.Modules {
		for _, a := range m.Annotations {
			if a.Key == key {
				return a.Value, true
			}
		}
		for _, o := range m.Objects {
			if v, ok := o.Text(); ok && o.Name == key {
				return v, true
			}
		}
	}
	return "", false
}
