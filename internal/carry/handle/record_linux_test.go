package handle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What a process calls itself is escaped in crash.json, and read back as it was.
func TestRecordIsSafe(t *testing.T) {
	s, p := store(t)
	const named = "a\u202eb\u009b31mc\x1b]0;x\x07"
	d, err := s.begin(p, Crash{PID: 7, Time: time.Unix(1, 0)}, named, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := Record{Time: time.Unix(1, 0).UTC(), Program: "/" + named, Command: named, Cgroup: named, Files: []string{named}, Warnings: []string{named}, Container: &Container{ID: named}}
	if err := d.writeJSON("crash.json", &want); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(d.temp, "crash.json"))
	if err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexAny(string(text), "\u202e\u009b\x1b\x07"); i >= 0 {
		t.Errorf("%q", text[i:min(i+8, len(text))])
	}
	var got Record
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v", err, got)
	}
}
