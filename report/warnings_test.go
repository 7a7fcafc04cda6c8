package report

import (
	"bytes"
	"strings"
	"testing"
)

// Advice that several modules share is given once.
func TestSharedAdvice(t *testing.T) {
	missing := func(path, name, advice string) Warning {
		return Warning{Code: "module-missing", Module: path, Message: name + ": no file found", Advice: advice}
	}
	r := &Report{Schema: Schema, Warnings: []Warning{
		missing(`C:\app\a.exe`, "a.exe", "Find it"), missing(`C:\app\b.dll`, "b.dll", "Find it"), missing("/lib/c.so", "c.so", "Look for it"),
		{Code: "other", Message: "one thing", Advice: "Look for it"},
	}}
	var text bytes.Buffer
	if err := WriteText(&text, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "a.exe: no file found\nb.dll: no file found\nFor each of these: find it\nc.so: no file found. Look for it\nOne thing. Look for it\n"
	if !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q\nwant %q at its end", text.String(), want)
	}
}
