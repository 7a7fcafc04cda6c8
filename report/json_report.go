package report

import (
	"io"
	"reflect"
)

// WriteJSON writes r as one JSON document and a final newline. Each module, frame and warning has a line, keys
// follow the order of the structs' fields, and nothing is escaped for HTML. WriteJSON buffers its output, so w
// needs no buffer. The error is w's.
//
// The output equals that of encoding/json except for white space and for the escapes of what Clean escapes. Bytes that
// are not UTF-8, which JSON cannot have, become the text that Clean makes of them. Beside such a path WriteJSON adds
// its exact bytes: Dump.PathBytes, Module.FileBytes.
func WriteJSON(w io.Writer, r *Report) error {
	j := jsonWriter{w: w, buf: make([]byte, 0, flushAt+4<<10)}
	j.report(r)
	j.buf = append(j.buf, '\n')
	j.flush()
	return j.err
}

func (j *jsonWriter) report(r *Report) {
	j.open('{', false)
	j.str("schema", Schema)
	j.key("dump")
	j.dump(&r.Dump)
	if r.Crash == nil {
		j.null("crash")
	} else {
		j.key("crash")
		j.crash(r.Crash)
	}
	if r.Process != nil {
		j.key("process")
		j.fields(reflect.ValueOf(*r.Process), false)
	}
	array(j, "modules", r.Modules, (*jsonWriter).module)
	if r.Wanted != nil {
		j.key("wanted")
		j.fields(reflect.ValueOf(*r.Wanted), false)
	}
	array(j, "threads", r.Threads, (*jsonWriter).thread)
	if len(r.Tasks) > 0 {
		array(j, "tasks", r.Tasks, (*jsonWriter).task)
	}
	if len(r.Deadlocks) > 0 {
		array(j, "deadlocks", r.Deadlocks, func(j *jsonWriter, d *Deadlock) { j.fields(reflect.ValueOf(*d), true) })
	}
	if len(r.Contended) > 0 {
		array(j, "contended", r.Contended, func(j *jsonWriter, c *Contended) { j.fields(reflect.ValueOf(*c), true) })
	}
	if len(r.Memory) > 0 {
		array(j, "memory", r.Memory, (*jsonWriter).memoryArea)
	}
	j.details(r.Details)
	array(j, "warnings", r.Warnings, (*jsonWriter).warning)
	j.close('}')
}

// array writes a field that holds a list, on outer levels with one element a line.
func array[T any](j *jsonWriter, key string, list []T, write func(*jsonWriter, *T)) {
	j.key(key)
	j.open('[', false)
	for i := range list {
		j.next()
		write(j, &list[i])
	}
	j.close(']')
}

func (j *jsonWriter) dump(d *Dump) {
	j.open('{', false)
	j.path("path", d.Path, d.PathBytes)
	j.optStr("from", d.From)
	j.str("format", d.Format)
	j.str("arch", d.Arch)
	j.str("os", d.OS)
	j.num("pid", d.PID)
	j.str("command", d.Command)
	j.optStr("command_line", d.CommandLine)
	j.time("time", d.Time)
	j.optBool("time_of_file", d.TimeOfFile)
	j.bool("truncated", d.Truncated)
	j.optSize("size", d.Size)
	j.optSize("full_size", d.FullSize)
	j.optNum("threads", d.Threads)
	j.close('}')
}

func (j *jsonWriter) crash(c *Crash) {
	j.open('{', false)
	j.optStr("signal", c.Signal)
	j.optNum("signal_number", c.SignalNumber)
	j.optStr("exception", c.Exception)
	j.optStr("code", c.Code)
	j.optStr("kind", c.Kind)
	if c.Address != nil {
		j.addr("address", *c.Address)
	}
	if c.AdjustedAddress != nil {
		j.key("adjusted_address")
		j.adjusted(c.AdjustedAddress)
	}
	j.optStr("reason", c.Reason)
	j.optStr("message", c.Message)
	j.num("thread", c.Thread)
	if c.Frame != nil {
		j.num("frame", *c.Frame)
	}
	if c.Instruction != nil {
		j.key("instruction")
		j.instruction(c.Instruction)
	}
	if len(c.Accesses) > 0 {
		array(j, "accesses", c.Accesses, (*jsonWriter).access)
	}
	if c.Overflow != nil {
		j.key("overflow")
		j.overflow(c.Overflow)
	}
	if len(c.BitFlips) > 0 {
		array(j, "bit_flips", c.BitFlips, (*jsonWriter).bitFlip)
	}
	j.optStrings("inconsistencies", c.Inconsistencies)
	if len(c.Causes) > 0 {
		array(j, "causes", c.Causes, (*jsonWriter).cause)
	}
	if c.Blame != nil {
		j.key("blame")
		j.blame(c.Blame)
	}
	j.words(c)
	j.close('}')
}

func (j *jsonWriter) adjusted(a *AdjustedAddress) {
	j.open('{', true)
	j.str("kind", a.Kind)
	j.optAddr("address", a.Address)
	j.optAddr("offset", a.Offset)
	j.close('}')
}

func (j *jsonWriter) access(a *Access) {
	j.open('{', true)
	j.addr("address", a.Address)
	j.optNum("size", a.Size)
	j.str("kind", a.Kind)
	j.optBool("guard_page", a.GuardPage)
	j.close('}')
}

func (j *jsonWriter) overflow(o *Overflow) {
	j.open('{', true)
	j.num("frames", o.Frames)
	j.size("bytes", o.Bytes)
	j.optBool("incomplete", o.Incomplete)
	j.optSize("stack", o.Stack)
	j.optStrings("cycle", o.Cycle)
	j.optNum("times", o.Times)
	j.optBool("alternate", o.Alternate)
	j.close('}')
}

func (j *jsonWriter) bitFlip(b *BitFlip) {
	j.open('{', true)
	j.addr("address", b.Address)
	j.num("bit", b.Bit)
	j.optStr("register", b.Register)
	j.float("confidence", b.Confidence)
	j.key("details")
	j.open('{', true)
	d := &b.Details
	j.optBool("was_non_canonical", d.WasNonCanonical)
	j.optBool("is_null", d.IsNull)
	j.optBool("was_low", d.WasLow)
	j.optNum("nearby_registers", d.NearbyRegisters)
	j.optBool("poison_registers", d.PoisonRegisters)
	j.close('}')
	j.close('}')
}

func (j *jsonWriter) instruction(in *Instruction) {
	j.open('{', true)
	j.addr("address", in.Address)
	j.str("text", in.Text)
	if len(in.Registers) > 0 {
		j.key("registers")
		j.registers(in.Registers)
	}
	j.optStr("access", in.Access)
	j.optNum("access_size", in.AccessSize)
	j.optStr("note", in.Note)
	j.close('}')
}

func (j *jsonWriter) cause(c *Cause) {
	j.open('{', true)
	j.str("text", c.Text)
	j.optStr("confidence", c.Confidence)
	j.close('}')
}

func (j *jsonWriter) module(m *Module) {
	j.open('{', true)
	j.path("path", m.Path, m.PathBytes)
	j.addr("base", m.Base)
	j.addr("end", m.End)
	j.optStr("build_id", m.BuildID)
	j.optStr("debug_id", m.DebugID)
	j.optStr("go_build_id", m.GoBuildID)
	j.optStr("code_id", m.CodeID)
	j.optStr("debug_name", m.DebugName)
	j.optStr("version", m.Version)
	if m.Listed != nil {
		j.key("listed")
		j.fields(reflect.ValueOf(*m.Listed), true)
	}
	j.optPath("file", m.File, m.FileBytes)
	j.optPath("debug_file", m.DebugFile, m.DebugFileBytes)
	j.str("status", m.Status)
	j.str("symbols", m.Symbols)
	j.optBool("main", m.Main)
	j.close('}')
}

func (j *jsonWriter) thread(t *Thread) {
	j.open('{', false)
	j.num("id", t.ID)
	j.str("name", t.Name)
	j.bool("crashed", t.Crashed)
	j.optStr("last_error", t.LastError)
	j.optStr("state", t.State)
	if t.CPUSeconds != 0 {
		j.float("cpu_seconds", t.CPUSeconds)
	}
	j.optStrings("notes", t.Notes)
	j.key("registers")
	j.registers(t.Registers)
	j.str("end", t.End)
	j.optStr("end_detail", t.EndDetail)
	array(j, "frames", t.Frames, (*jsonWriter).frame)
	j.close('}')
}

func (j *jsonWriter) registers(rs Registers) {
	j.open('{', true)
	for i := range rs {
		j.next()
		j.buf = append(appendJSONString(j.buf, rs[i].Name), ": \""...)
		j.buf = append(rs[i].Value.append(j.buf), '"')
	}
	j.close('}')
}

func (j *jsonWriter) warning(w *Warning) {
	j.open('{', true)
	j.str("code", w.Code)
	j.str("message", w.Message)
	j.optStr("module", w.Module)
	j.optStr("advice", w.Advice)
	j.close('}')
}
