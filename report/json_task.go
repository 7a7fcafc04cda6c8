package report

import (
	"reflect"
	"slices"
)

func (j *jsonWriter) task(t *Task) {
	j.open('{', false)
	j.str("kind", t.Kind)
	j.num("id", t.ID)
	j.optStr("name", t.Name)
	j.str("runtime", t.Runtime)
	j.optNum("thread", t.Thread)
	j.str("state", t.State)
	j.optStr("status", t.Status)
	j.optStr("certainty", t.Certainty)
	j.optBool("locked", t.Locked)
	j.optBool("system", t.System)
	if t.Wait != nil {
		j.key("wait")
		j.wait(t.Wait)
	}
	if t.CreatedBy != nil {
		j.key("created_by")
		j.creation(t.CreatedBy)
	}
	if len(t.Labels) > 0 {
		array(j, "labels", t.Labels, func(j *jsonWriter, l *Label) { j.fields(reflect.ValueOf(*l), true) })
	}
	j.optStr("end", t.End)
	j.optStr("end_detail", t.EndDetail)
	without := func(f Frame) bool { return uint(f.Physical) >= uint(len(t.Places)) }
	if len(t.Frames) > 0 && !slices.ContainsFunc(t.Frames, without) {
		j.sharedFrames(t.Frames, t.Places)
	} else {
		array(j, "frames", t.Frames, (*jsonWriter).frame)
	}
	j.close('}')
}

// There may be a hundred thousand of these: reflection takes several times as long.

func (j *jsonWriter) wait(w *Wait) {
	j.open('{', true)
	j.str("kind", w.Kind)
	j.optStr("reason", w.Reason)
	j.optStr("certainty", w.Certainty)
	if w.Object != nil {
		j.key("object")
		j.object(w.Object)
	}
	if len(w.Cases) > 0 {
		array(j, "cases", w.Cases, func(j *jsonWriter, c *WaitCase) {
			j.open('{', true)
			j.str("kind", c.Kind)
			j.key("object")
			j.object(&c.Object)
			j.close('}')
		})
	}
	if len(w.Holders) > 0 {
		array(j, "holders", w.Holders, func(j *jsonWriter, h *Holder) {
			j.open('{', true)
			j.str("kind", h.Kind)
			j.num("id", h.ID)
			j.str("certainty", h.Certainty)
			if h.Taken != nil {
				j.key("taken")
				j.fields(reflect.ValueOf(*h.Taken), true)
			}
			j.close('}')
		})
	}
	j.optBool("all", w.All)
	j.optBool("timed", w.Timed)
	if w.Seconds != 0 {
		j.float("seconds", w.Seconds)
	}
	j.optStr("note", w.Note)
	j.close('}')
}

func (j *jsonWriter) object(o *WaitObject) {
	j.open('{', true)
	j.addr("address", o.Address)
	j.optStr("name", o.Name)
	j.optStr("type", o.Type)
	j.optStr("detail", o.Detail)
	j.close('}')
}

func (j *jsonWriter) creation(c *Creation) {
	j.open('{', true)
	if c.Task != nil {
		j.key("task")
		j.open('{', true)
		j.str("kind", c.Task.Kind)
		j.num("id", c.Task.ID)
		j.close('}')
	}
	j.optStr("function", c.Function)
	if c.Source != (Source{}) {
		j.key("source")
		j.source(&c.Source)
	}
	j.close('}')
}
