package sample

import (
	"compress/gzip"
	"io"

	"github.com/corewalk/corewalk/internal/format/pprof"
)

// WritePprof writes the profile in pprof's format: profile.proto, compressed with gzip
// (github.com/google/pprof, proto/profile.proto). Its values are the number of stacks and the time they stand
// for, at Period each. Each stack is labelled with its thread's name and its Labels. The error is w's.
func (p *Profile) WritePprof(w io.Writer) error {
	e := &pprofEncoder{functions: map[Call]uint64{}, modules: map[*Module]uint64{}, places: map[*Place]uint64{}}
	z := gzip.NewWriter(w)
	if _, err := z.Write(e.profile(p)); err != nil {
		return err
	}
	return z.Close()
}

// A pprofEncoder numbers the things that samples refer to, from 1 on, and writes each when it is first used.
type pprofEncoder struct {
	out       pprof.Message
	strings   pprof.Strings
	functions map[Call]uint64 // without lines
	modules   map[*Module]uint64
	places    map[*Place]uint64
}

func (e *pprofEncoder) profile(p *Profile) []byte {
	count, wall := e.strings.Value("samples", "count"), e.strings.Value("wall", "nanoseconds")
	e.out.Message(pprof.ProfileSampleType, count)
	e.out.Message(pprof.ProfileSampleType, wall)
	if p.Program != nil {
		e.module(p.Program) // pprof names the profile after the first mapping
	}
	for i := range p.kept {
		e.sample(&p.kept[i], int64(p.Period))
	}
	e.out.Int(pprof.ProfileTimeNanos, uint64(p.Start.UnixNano()))
	e.out.Int(pprof.ProfileDuration, uint64(p.Duration))
	e.out.Message(pprof.ProfilePeriodType, wall)
	e.out.Int(pprof.ProfilePeriod, uint64(p.Period))
	e.strings.Write(&e.out)
	return e.out
}

func (e *pprofEncoder) sample(s *merged, period int64) {
	var m, ids, values pprof.Message
	for _, pl := range s.places {
		ids.Varint(e.place(pl))
	}
	values.Varint(uint64(s.count))
	values.Varint(uint64(int64(s.count) * period))
	m.Bytes(pprof.SampleLocation, ids)
	m.Bytes(pprof.SampleValue, values)
	label := func(key, value string) {
		var l pprof.Message
		l.Int(pprof.LabelKey, e.strings.Number(key))
		l.Int(pprof.LabelStr, e.strings.Number(value))
		m.Message(pprof.SampleLabel, l)
	}
	if s.thread != "" {
		label("thread", s.thread)
	}
	for _, l := range s.labels {
		label(l.Key, l.Value)
	}
	e.out.Message(pprof.ProfileSample, m)
}

func (e *pprofEncoder) place(pl *Place) uint64 {
	if id, ok := e.places[pl]; ok {
		return id
	}
	id := uint64(len(e.places) + 1)
	e.places[pl] = id
	var m pprof.Message
	m.Int(pprof.LocationID, id)
	if pl.Module != nil {
		m.Int(pprof.LocationMapping, e.module(pl.Module))
	}
	m.Int(pprof.LocationAddress, pl.Addr)
	for _, c := range pl.Calls {
		var l pprof.Message
		l.Int(pprof.LineFunction, e.function(c))
		l.Int(pprof.LineLine, uint64(c.Line))
		m.Message(pprof.LocationLine, l)
	}
	e.out.Message(pprof.ProfileLocation, m)
	return id
}

func (e *pprofEncoder) module(mod *Module) uint64 {
	if id, ok := e.modules[mod]; ok {
		return id
	}
	id := uint64(len(e.modules) + 1)
	e.modules[mod] = id
	var m pprof.Message
	m.Int(pprof.MappingID, id)
	m.Int(pprof.MappingStart, mod.Start)
	m.Int(pprof.MappingLimit, mod.End)
	m.Int(pprof.MappingOffset, mod.Offset)
	m.Int(pprof.MappingFile, e.strings.Number(mod.Path))
	m.Int(pprof.MappingBuildID, e.strings.Number(mod.BuildID))
	// Tell readers that all symbols have been looked up.
	for _, f := range []int{pprof.MappingHasFunctions, pprof.MappingHasFiles, pprof.MappingHasLines, pprof.MappingHasInlines} {
		m.Int(f, 1)
	}
	e.out.Message(pprof.ProfileMapping, m)
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
	var m pprof.Message
	m.Int(pprof.FunctionID, id)
	m.Int(pprof.FunctionName, e.strings.Number(c.Name))
	m.Int(pprof.FunctionSystem, e.strings.Number(c.SystemName))
	m.Int(pprof.FunctionFile, e.strings.Number(c.File))
	e.out.Message(pprof.ProfileFunction, m)
	return id
}
