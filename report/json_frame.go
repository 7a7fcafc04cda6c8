package report

import "reflect"

func (j *jsonWriter) frame(f *Frame) {
	j.open('{', true)
	j.frameHead(f)
	j.addr("sp", f.SP)
	j.optAddr("cfa", f.CFA)
	j.frameCode(f)
	if !f.ReturnAddressLocation.IsZero() {
		j.location("return_address_location", f.ReturnAddressLocation)
	}
	j.frameRest(f)
	j.close('}')
}

// frameHead, frameCode and frameRest write what frames of the same code have in common.
func (j *jsonWriter) frameHead(f *Frame) {
	j.num("index", f.Index)
	j.num("physical", f.Physical)
	j.addr("pc", f.PC)
}

func (j *jsonWriter) frameCode(f *Frame) {
	j.optAddr("lookup", f.Lookup)
	j.optStr("module", f.Module)
	j.optAddr("offset", f.Offset)
	j.optStr("function", f.Function)
	j.optStr("symbol", f.Symbol)
	j.optAddr("entry", f.Entry)
	if f.Source != (Source{}) {
		j.key("source")
		j.source(&f.Source)
	}
	j.optBool("inlined", f.Inlined)
	j.optBool("no_return", f.NoReturn)
	if f.Merged != nil {
		j.key("merged")
		j.fields(reflect.ValueOf(*f.Merged), true)
	}
	j.optBool("tail", f.Tail)
	j.optStr("signal", f.Signal)
	j.optNum("signal_number", f.SignalNumber)
	j.optStr("signal_confidence", f.SignalConfidence)
	j.str("trust", f.Trust)
	j.str("stepper", f.Stepper)
	j.optBool("mismatched", f.Mismatched)
	j.optBool("doubtful", f.Doubtful)
}

func (j *jsonWriter) frameRest(f *Frame) {
	j.optAddr("object", f.Object)
	j.optBool("approximate", f.Approximate)
	j.optStr("awaits", f.Awaits)
	j.optStr("language", f.Language)
	j.optStr("kind", f.Kind)
	j.optBool("folded", f.Folded)
	if f.Args != nil {
		array(j, "args", f.Args, (*jsonWriter).variable)
	}
	if f.Locals != nil {
		array(j, "locals", f.Locals, (*jsonWriter).variable)
	}
	j.optStr("variables_left_out", f.VariablesLeftOut)
	if f.Explain != nil {
		j.key("explain")
		j.explain(f.Explain)
	}
	if f.Listing != nil {
		j.key("listing")
		j.fields(reflect.ValueOf(*f.Listing), true)
	}
	if len(f.Code) > 0 {
		array(j, "code", f.Code, (*jsonWriter).codeLine)
	}
	if f.Verify != nil {
		j.key("verify")
		j.verify(f.Verify)
	}
}

// A frameText is a frame that many tasks share, encoded but for where it is on their stacks.
type frameText struct{ head, code, rest []byte }

// shared encodes the frames that tasks share, once.
func (j *jsonWriter) shared(frames []Frame) []frameText {
	texts, ok := j.texts[&frames[0]]
	if ok {
		return texts
	}
	part := func(write func(*jsonWriter, *Frame), f *Frame, first bool) []byte {
		p := jsonWriter{depth: 1, oneRow: 1, comma: !first}
		write(&p, f)
		return p.buf
	}
	for i := range frames {
		f := &frames[i]
		texts = append(texts, frameText{part((*jsonWriter).frameHead, f, true), part((*jsonWriter).frameCode, f, false), part((*jsonWriter).frameRest, f, false)})
	}
	if j.texts == nil {
		j.texts = map[*Frame][]frameText{}
	}
	j.texts[&frames[0]] = texts
	return texts
}

// sharedFrames writes frames that have their places on another stack.
func (j *jsonWriter) sharedFrames(frames []Frame, places []FramePlace) {
	texts := j.shared(frames)
	j.key("frames")
	j.open('[', false)
	for i := range frames {
		f, t := &frames[i], &texts[i]
		p := places[f.Physical]
		j.next()
		j.open('{', true)
		j.buf, j.comma = append(j.buf, t.head...), true
		j.addr("sp", p.SP)
		j.optAddr("cfa", p.CFA)
		j.buf = append(j.buf, t.code...)
		switch {
		case f.ReturnAddressLocation.Register != "":
			j.location("return_address_location", f.ReturnAddressLocation)
		case p.ReturnAddress != 0 && !f.ReturnAddressLocation.IsZero():
			j.addr("return_address_location", p.ReturnAddress)
		}
		j.buf = append(j.buf, t.rest...)
		j.close('}')
	}
	j.close(']')
}

func (j *jsonWriter) codeLine(c *CodeLine) { j.fields(reflect.ValueOf(*c), true) }

func (j *jsonWriter) memoryArea(m *MemoryArea) { j.fields(reflect.ValueOf(*m), true) }

func (j *jsonWriter) source(s *Source) {
	j.open('{', true)
	j.str("file", s.File)
	j.optNum("line", s.Line)
	j.optNum("column", s.Column)
	j.close('}')
}

func (j *jsonWriter) location(k string, l Location) {
	if l.Register != "" {
		j.str(k, l.Register)
	} else {
		j.addr(k, l.Address)
	}
}

func (j *jsonWriter) variable(v *Variable) {
	j.open('{', true)
	j.str("name", v.Name)
	j.optStr("type", v.Type)
	j.optStr("value", v.Value)
	j.optBool("doubtful", v.Doubtful)
	j.optStr("status", v.Status)
	j.optStr("reason", v.Reason)
	j.optStr("entry", v.Entry)
	j.optStr("location", v.Location)
	j.optStr("expression", v.Expression)
	if v.Data != nil {
		j.key("data")
		j.data(v.Data)
	}
	j.close('}')
}

func (j *jsonWriter) data(d *Data) {
	j.open('{', true)
	j.str("kind", d.Kind)
	j.optStr("type", d.Type)
	j.optStr("text", d.Text)
	j.optAddr("address", d.Address)
	j.optStr("error", d.Error)
	if len(d.Children) > 0 {
		array(j, "children", d.Children, (*jsonWriter).child)
	}
	j.optBool("truncated", d.Truncated)
	j.close('}')
}

func (j *jsonWriter) child(c *Child) {
	j.open('{', true)
	j.optStr("name", c.Name)
	if c.Key != nil {
		j.key("key")
		j.data(c.Key)
	}
	j.optNum("repeat", c.Repeat)
	j.key("data")
	j.data(&c.Data)
	j.close('}')
}

func (j *jsonWriter) explain(e *Explain) {
	j.open('{', true)
	if len(e.Asked) > 0 {
		array(j, "asked", e.Asked, (*jsonWriter).asked)
	}
	j.optStr("rule", e.Rule)
	if len(e.Registers) > 0 {
		array(j, "registers", e.Registers, (*jsonWriter).recovered)
	}
	j.optStrings("notes", e.Notes)
	j.close('}')
}

func (j *jsonWriter) optStrings(key string, list []string) {
	if len(list) > 0 {
		j.strings(key, list)
	}
}

func (j *jsonWriter) strings(key string, list []string) {
	j.key(key)
	j.open('[', true)
	for _, s := range list {
		j.next()
		j.buf = appendJSONString(j.buf, s)
	}
	j.close(']')
}

func (j *jsonWriter) verify(v *Verify) {
	j.open('{', true)
	j.strings("agree", v.Agree)
	array(j, "differ", v.Differ, (*jsonWriter).differ)
	j.close('}')
}

func (j *jsonWriter) differ(d *Differ) {
	j.open('{', true)
	j.str("stepper", d.Stepper)
	j.addr("ra", d.RA)
	j.addr("sp", d.SP)
	if d.FP != nil {
		j.addr("fp", *d.FP)
	}
	j.optBool("bottom", d.Bottom)
	j.str("trust", d.Trust)
	j.close('}')
}

func (j *jsonWriter) asked(a *Asked) {
	j.open('{', true)
	j.str("stepper", a.Stepper)
	j.str("status", a.Status)
	j.optStr("detail", a.Detail)
	j.close('}')
}

func (j *jsonWriter) recovered(r *RecoveredRegister) {
	j.open('{', true)
	j.str("name", r.Name)
	if r.Value != nil {
		j.addr("value", *r.Value)
	}
	j.str("location", r.Location)
	j.close('}')
}
