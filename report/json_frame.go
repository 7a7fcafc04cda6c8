package report

import "slices"

// taskFrames writes the frames of a task, which may share them with others.
func (j *jsonWriter) taskFrames(t *Task) {
	without := func(f Frame) bool { return uint(f.Physical) >= uint(len(t.Places)) }
	if len(t.Frames) > 0 && !slices.ContainsFunc(t.Frames, without) {
		j.sharedFrames(t.Frames, t.Places)
		return
	}
	array(j, "frames", t.Frames, (*jsonWriter).putFrame)
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
		texts = append(texts, frameText{part((*jsonWriter).putFrameHead, f, true), part((*jsonWriter).putFrameCode, f, false), part((*jsonWriter).putFrameRest, f, false)})
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
