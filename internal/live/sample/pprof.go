package sample

import (
	"compress/gzip"
	"io"
)

// WritePprof writes the profile in pprof's format: profile.proto, compressed with gzip
// (github.com/google/pprof, proto/profile.proto). Its values are the number of stacks and the time they stand
// for, at Period each. Each stack is labelled with its thread's name and its Labels. The error is w's.
func (p *Profile) WritePprof(w io.Writer) error {
	e := &pprofEncoder{strings: map[string]uint64{"": 0}, table: []string{""}, functions: map[Call]uint64{}, modules: map[*Module]uint64{}, places: map[*Place]uint64{}}
	z := gzip.NewWriter(w)
	if _, err := z.Write(e.profile(p)); err != nil {
		return err
	}
	return z.Close()
}

// Field numbers of the messages.
const (
	profileSampleType  = 1
	profileSample      = 2
	profileMapping     = 3
	profileLocation    = 4
	profileFunction    = 5
	profileStringTable = 6
	profileTimeNanos   = 9
	profileDuration    = 10
	profilePeriodType  = 11
	profilePeriod      = 12

	valueType = 1
	valueUnit = 2

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3
	labelKey       = 1
	labelStr       = 2

	mappingID           = 1
	mappingStart        = 2
	mappingLimit        = 3
	mappingOffset       = 4
	mappingFile         = 5
	mappingBuildID      = 6
	mappingHasFunctions = 7
	mappingHasFiles     = 8
	mappingHasLines     = 9
	mappingHasInlines   = 10

	locationID      = 1
	locationMapping = 2
	locationAddress = 3
	locationLine    = 4
	lineFunction    = 1
	lineLine        = 2

	functionID     = 1
	functionName   = 2
	functionSystem = 3
	functionFile   = 4
)

// A pprofEncoder numbers the things that samples refer to, from 1 on, and writes each when it is first used.
type pprofEncoder struct {
	out       message
	strings   map[string]uint64
	table     []string
	functions map[Call]uint64 // without lines
	modules   map[*Module]uint64
	places    map[*Place]uint64
}

func (e *pprofEncoder) profile(p *Profile) []byte {
	count, wall := e.value("samples", "count"), e.value("wall", "nanoseconds")
	e.out.message(profileSampleType, count)
	e.out.message(profileSampleType, wall)
	if p.Program != nil {
		e.module(p.Program) // pprof names the profile after the first mapping
	}
	for i := range p.kept {
		e.sample(&p.kept[i], int64(p.Period))
	}
	e.out.int(profileTimeNanos, uint64(p.Start.UnixNano()))
	e.out.int(profileDuration, uint64(p.Duration))
	e.out.message(profilePeriodType, wall)
	e.out.int(profilePeriod, uint64(p.Period))
	for _, s := range e.table {
		e.out.bytes(profileStringTable, []byte(s))
	}
	return e.out
}

func (e *pprofEncoder) value(typ, unit string) message {
	var m message
	m.int(valueType, e.string(typ))
	m.int(valueUnit, e.string(unit))
	return m
}

func (e *pprofEncoder) string(s string) uint64 {
	if i, ok := e.strings[s]; ok {
		return i
	}
	i := uint64(len(e.table))
	e.strings[s] = i
	e.table = append(e.table, s)
	return i
}

func (e *pprofEncoder) sample(s *merged, period int64) {
	var m, ids, values message
	for _, pl := range s.places {
		ids.varint(e.place(pl))
	}
	values.varint(uint64(s.count))
	values.varint(uint64(int64(s.count) * period))
	m.bytes(sampleLocation, ids)
	m.bytes(sampleValue, values)
	label := func(key, value string) {
		var l message
		l.int(labelKey, e.string(key))
		l.int(labelStr, e.string(value))
		m.message(sampleLabel, l)
	}
	if s.thread != "" {
		label("thread", s.thread)
	}
	for _, l := range s.labels {
		label(l.Key, l.Value)
	}
	e.out.message(profileSample, m)
}

func (e *pprofEncoder) place(pl *Place) uint64 {
	if id, ok := e.places[pl]; ok {
		return id
	}
	id := uint64(len(e.places) + 1)
	e.places[pl] = id
	var m message
	m.int(locationID, id)
	if pl.Module != nil {
		m.int(locationMapping, e.module(pl.Module))
	}
	m.int(locationAddress, pl.Addr)
	for _, c := range pl.Calls {
		var l message
		l.int(lineFunction, e.function(c))
		l.int(lineLine, uint64(c.Line))
		m.message(locationLine, l)
	}
	e.out.message(profileLocation, m)
	return id
}

func (e *pprofEncoder) module(mod *Module) uint64 {
	if id, ok := e.modules[mod]; ok {
		return id
	}
	id := uint64(len(e.modules) + 1)
	e.modules[mod] = id
	var m message
	m.int(mappingID, id)
	m.int(mappingStart, mod.Start)
	m.int(mappingLimit, mod.End)
	m.int(mappingOffset, mod.Offset)
	m.int(mappingFile, e.string(mod.Path))
	m.int(mappingBuildID, e.string(mod.BuildID))
	// Tell readers that all symbols have been looked up.
	for _, f := range []int{mappingHasFunctions, mappingHasFiles, mappingHasLines, mappingHasInlines} {
		m.int(f, 1)
	}
	e.out.message(profileMapping, m)
	return id
}

func (e *pprofEncoder) function(c Call) uint64 {
	c.Line = 0
	if id, ok := e.functions[c]; ok {
		return id
	}
	id := uint64(len(e.functions) + 1)
	e.functions[c] = id
	if c.SystemName == "" {
		c.SystemName = c.Name
	}
	var m message
	m.int(functionID, id)
	m.int(functionName, e.string(c.Name))
	m.int(functionSystem, e.string(c.SystemName))
	m.int(functionFile, e.string(c.File))
	e.out.message(profileFunction, m)
	return id
}

// A message is a protocol buffers message being encoded.
type message []byte

func (m *message) varint(v uint64) {
	for v >= 0x80 {
		*m = append(*m, byte(v)|0x80)
		v >>= 7
	}
	*m = append(*m, byte(v))
}

// int adds an integer field; zero is the default and is left out.
func (m *message) int(field int, v uint64) {
	if v != 0 {
		m.varint(uint64(field) << 3)
		m.varint(v)
	}
}

// bytes adds a length-delimited field: bytes, a string, a message or packed integers.
func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}

func (m *message) message(field int, sub message) { m.bytes(field, sub) }
