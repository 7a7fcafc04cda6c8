package report

func (j *jsonWriter) blame(b *Blame) {
	j.open('{', false)
	j.optStr("expression", b.Expression)
	j.optStr("register", b.Register)
	j.addr("value", b.Value)
	j.str("confidence", b.Confidence)
	if len(b.Steps) > 0 {
		array(j, "steps", b.Steps, (*jsonWriter).blameStep)
	}
	j.close('}')
}

func (j *jsonWriter) blameStep(s *BlameStep) {
	j.open('{', true)
	j.str("kind", s.Kind)
	j.optStr("name", s.Name)
	j.optStr("role", s.Role)
	j.optStr("function", s.Function)
	if s.Source != (Source{}) {
		j.key("source")
		j.source(&s.Source)
	}
	j.optAddr("address", s.Address)
	j.optStr("expression", s.Expression)
	j.optAddr("offset", s.Offset)
	if s.Value != nil {
		j.addr("value", *s.Value)
	}
	if s.Memory != nil {
		j.addr("memory", *s.Memory)
	}
	j.num("physical", s.Physical)
	j.optNum("number", s.Number)
	j.optStr("passed", s.Passed)
	j.optStr("type", s.Type)
	j.close('}')
}
