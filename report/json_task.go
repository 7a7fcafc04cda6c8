package report

import "reflect"

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
		j.fields(reflect.ValueOf(*t.Wait), true)
	}
	if t.CreatedBy != nil {
		j.key("created_by")
		j.fields(reflect.ValueOf(*t.CreatedBy), true)
	}
	if len(t.Labels) > 0 {
		array(j, "labels", t.Labels, func(j *jsonWriter, l *Label) { j.fields(reflect.ValueOf(*l), true) })
	}
	j.optStr("end", t.End)
	j.optStr("end_detail", t.EndDetail)
	array(j, "frames", t.Frames, (*jsonWriter).frame)
	j.close('}')
}
