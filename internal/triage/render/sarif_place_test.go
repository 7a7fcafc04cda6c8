package render

import (
	"fmt"
	"strings"
	"testing"
)

// The place of a result is in the program's own code, not in the C library that ended it.
func TestSARIFPlace(t *testing.T) {
	const frames = `"threads":[{"id":7,"crashed":true,"frames":[
{"index":0,"function":"raise","source":{"file":"raise.c","line":26}},
{"index":1,"function":"drop","source":{"file":"/src/pool.c","line":88}},
{"index":2,"function":"_start"},
{"index":3,"function":"check","module":"/x/app"},
{"index":4,"function":"start_call","module":"libc.so.6","source":{"file":"start_call.h","line":58}},
{"index":5,"function":"main","module":"/x/app","source":{"file":"/src/app.c","line":9}},
{"index":6,"function":"after","module":"/x/app"}]}]}`
	for crash, want := range map[string]string{
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":1,"thread":7},`:  "drop",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":2,"thread":7},`:  "_start",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":3,"thread":7},`:  "main", // the program's, not the library's between
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":6,"thread":7},`:  "after",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":-1,"thread":7},`: "raise",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":9,"thread":7},`:  "raise",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","thread":7},`:            "raise",
		`{"schema":"corewalk/1",`: "raise",
	} {
		all, look := representativeFrames([]byte(crash + frames))
		if len(all) != 7 || look == nil || look.Function != want {
			t.Errorf("%s: %+v, want %s", crash, look, want)
		}
	}
}

// For a shortened report the page counts the frames of the whole stack.
func TestPageOfShortened(t *testing.T) {
	var frames []string
	for i := range 100 {
		n := i
		if i >= 60 {
			n += 9000
		}
		frames = append(frames, fmt.Sprintf(`{"index":%d,"physical":%d,"function":"depth"}`, n, n))
	}
	s := pageSummary()
	s.Groups = s.Groups[:1]
	s.Groups[0].Report = []byte(`{"schema":"corewalk/1","crash":{"signal":"SIGSEGV","thread":7},"threads":[{"id":7,"crashed":true,"frames":[` + strings.Join(frames, ",") + `]}]}`)
	want := fmt.Sprintf("%d frames left out", 9100-maxInnerFrames-maxOuterFrames)
	if page := render(t, s); !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
}
