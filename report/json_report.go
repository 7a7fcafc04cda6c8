package report

import "io"

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

// report writes a report, with the schema that it has by being written here.
func (j *jsonWriter) report(r *Report) {
	mine := *r
	mine.Schema = Schema
	j.putReport(&mine)
}
