package triage

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Results with and without reports, whatever is in these, and lines longer than the reader's buffer.
func TestProtocol(t *testing.T) {
	var b bytes.Buffer
	w := newLineWriter(&b)
	dumps := []ledger.Dump{
		{Path: "a", Report: []byte("{\n\"n\": 1}\n")},
		{Path: "b", Reason: strings.Repeat("x", 1<<18)},
		{Path: "c", Report: bytes.Repeat([]byte("\n\x00"), 1<<17)},
	}
	for i := range dumps {
		if err := w.writeDump(i, &dumps[i], []Exact{"d"}); err != nil {
			t.Fatal(err)
		}
	}
	w.write(reply{N: 9, Memory: true})
	n := 0
	err := readLines(newLineReader(&b).readReply, func(r reply) error {
		switch {
		case n == len(dumps):
			if r.N != 9 || !r.Memory {
				t.Errorf("reply %d: %+v", n, r)
			}
		case r.N != n || r.Dump.Path != dumps[n].Path || r.Dump.Reason != dumps[n].Reason || !bytes.Equal(r.Dump.Report, dumps[n].Report) || r.Denied[0] != "d":
			t.Errorf("reply %d is not what was written", n)
		}
		n++
		return nil
	})
	if err != nil || n != len(dumps)+1 {
		t.Errorf("%d replies, error %v", n, err)
	}
}

// What a hostile analysis process may write.
func TestProtocolLies(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"n":1,"dump":{},"report":-1}` + "\n",
		`{"n":1,"dump":{},"report":67108865}` + "\n",
		`{"n":1,"dump":{},"report":10}` + "\nshort",
		`{"n":1,"report":1}` + "\nx",
		"no JSON\n",
		"\n",
		`{"n":"` + strings.Repeat("x", maxLine) + `"}` + "\n",
	} {
		err := readLines(newLineReader(strings.NewReader(s)).readReply, func(reply) error { return nil })
		if !errors.Is(err, errLine) {
			t.Errorf("%.40q: %v", s, err)
		}
	}
	if _, err := newLineReader(strings.NewReader("")).readReply(); err != io.EOF {
		t.Error(err)
	}
}
