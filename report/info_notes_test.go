package report

import (
	"slices"
	"strings"
	"testing"
)

// Equal notes of several threads are one row; a note that one thread has names the thread.
func TestNotesTable(t *testing.T) {
	status := func(tid int) Note { return Note{Owner: "CORE", Type: "NT_PRSTATUS", Size: 336, Thread: tid} }
	auxv := Note{Owner: "CORE", Type: "NT_AUXV", Size: 368}
	for _, c := range []struct {
		notes []Note
		want  []string
	}{
		{[]Note{status(7), auxv}, []string{"owner type >size >thread", "CORE NT_PRSTATUS 336 7", "CORE NT_AUXV 368 "}},
		{[]Note{status(7), {Owner: "CORE", Type: "NT_SIGINFO", Size: 128, Thread: 7}, status(8)},
			[]string{"owner type >size >thread", "CORE NT_PRSTATUS 336 2 threads", "CORE NT_SIGINFO 128 7"}},
		{[]Note{status(7), status(7), status(8)}, []string{"owner type >size >notes >thread", "CORE NT_PRSTATUS 336 3 2 threads"}},
		{[]Note{auxv, auxv, auxv}, []string{"owner type >size >notes", "CORE NT_AUXV 368 3"}},
		{[]Note{status(7), {Owner: "CORE", Type: "NT_PRSTATUS", Size: 300, Thread: 8}, {Owner: "CORE", Type: "NT_PRSTATUS", Size: 300, Thread: 9, Detail: "x"}},
			[]string{"owner type >size >thread detail", "CORE NT_PRSTATUS 336 7 ", "CORE NT_PRSTATUS 300 8 ", "CORE NT_PRSTATUS 300 9 x"}},
	} {
		tab := notesTable(c.notes)
		got := []string{strings.Join(tab.heads, " ")}
		for _, row := range tab.rows {
			got = append(got, strings.Join(row, " "))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v:\n%q, not\n%q", c.notes, got, c.want)
		}
	}
}
