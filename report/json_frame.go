package report

import "reflect"

func (j *jsonWriter) frame(f *Frame) {
	j.open('{', true)
	j.num("index", f.Index)
	j.num("physical", f.Physical)
	j.addr("pc", f.PC)
	j.addr("sp", f.SP)
	j.optAddr("cfa", f.CFA)
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
	j.str("trust", f.Trust)
	j.str("stepper", f.Stepper)
	j.optBool("mismatched", f.Mismatched)
	if !f.ReturnAddressLocation.IsZero() {
		j.location("return_address_location", f.ReturnAddressLocation)
	}
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
	j.close('}')
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
