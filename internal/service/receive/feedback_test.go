package receive

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// What users wrote is read wherever clients put it, with the event that it is of; the rest of an envelope may be missing.
func TestFeedback(t *testing.T) {
	const id = "9ec79c33ec9942ab8353589fcb2e04dc"
	for text, want := range map[string]Body{
		`{"type":"user_report"}` + "\n" + `{"event_id":"9EC79C33-EC99-42AB-8353-589FCB2E04DC","name":"Ann","email":"ann@example.com","comments":" it died\n"}`:                                               {Event: id, Feedback: []Feedback{{"Ann", "ann@example.com", "it died", id}}},
		`{"type":"feedback"}` + "\n" + `{"event_id":"11111111111111111111111111111111","contexts":{"feedback":{"message":"it died","contact_email":"a@b","name":"Ann","associated_event_id":"` + id + `"}}}`: {Event: id, Feedback: []Feedback{{"Ann", "a@b", "it died", id}}},
		`{"type":"feedback"}` + "\n" + `{"contexts":{"feedback":{"message":"of nothing","associated_event_id":"x"}}}`:                                                                                        {Event: "22222222222222222222222222222222", Feedback: []Feedback{{Text: "of nothing"}}},
		`{"type":"user_report"}` + "\n" + `{"comments":"   "}`: {Event: "22222222222222222222222222222222"},
		`{"type":"user_report"}` + "\n" + `[1]`:                {Event: "22222222222222222222222222222222"},
		`{"type":"session"}` + "\n" + `{}`:                     {Event: "22222222222222222222222222222222"},
	} {
		b, err := Envelope(strings.NewReader(`{"event_id":"22222222222222222222222222222222"}`+"\n"+text+"\n"), Into{})
		if err != nil {
			t.Fatal(err)
		}
		b.Fields = nil
		if !reflect.DeepEqual(*b, want) {
			t.Errorf("%s: %+v, want %+v", text, *b, want)
		}
	}
	// A dump is of its envelope's event, and what is written of another one is of that.
	b, err := Envelope(strings.NewReader(`{"event_id":"22222222222222222222222222222222"}`+"\n"+`{"type":"attachment","attachment_type":"event.minidump","length":4}`+"\nMDMP\n"+
		`{"type":"user_report"}`+"\n"+`{"event_id":"`+id+`","comments":"other"}`+"\n"), Into{Dump: func(string) (io.Writer, error) { return io.Discard, nil }})
	if err != nil || b.Event != strings.Repeat("2", 32) || !reflect.DeepEqual(b.Feedback, []Feedback{{Text: "other", Event: id}}) {
		t.Errorf("%+v %v", b, err)
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"core\"; filename=\"x\"\r\n\r\nMDMP\r\n"
	for name, value := range map[string]string{"Comments": strings.Repeat("\u00e9", maxText), "Email": "a@b", "comments": "lower", "feedback": "third", "feedback_name": strings.Repeat("n", 300), "email": "x", "other": "kept", "sentry": `{"event_id":"` + id + `"}`} {
		form += fmt.Sprintf("--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, value)
	}
	b, err = Form("multipart/form-data; boundary=b", strings.NewReader(form+"--b--\r\n"), Into{Dump: func(string) (io.Writer, error) { return io.Discard, nil }})
	if err != nil || len(b.Feedback) != 3 || len(b.Fields) != 1 || b.Fields["other"] != "kept" || b.Event != id {
		t.Fatalf("%+v %v", b, err)
	}
	if x := b.Feedback[0]; x.Email != "a@b" || len(x.Text) != maxText || !utf8.ValidString(x.Text) {
		t.Errorf("%+v", x)
	}
	if x := b.Feedback[2]; len(x.Name) != maxContact || x.Email != "" || x.Text != "third" {
		t.Errorf("%+v", x)
	}
	many := "{}\n" + strings.Repeat(`{"type":"user_report"}`+"\n"+`{"comments":"x"}`+"\n", MaxFeedback+2)
	if b, err := Envelope(strings.NewReader(many), Into{}); err != nil || len(b.Feedback) != MaxFeedback {
		t.Errorf("%+v %v", b, err)
	}
	if len(eventID(strings.Repeat("g", 32))+eventID("9ec7")) > 0 {
		t.Error("what is no identifier is one")
	}
}

// Files that come with a dump are passed on, by the names that the client gives.
func TestFiles(t *testing.T) {
	got := map[string]*bytes.Buffer{}
	to := func(name string) (io.Writer, error) {
		got[name] = new(bytes.Buffer)
		return got[name], nil
	}
	into := Into{Dump: func(string) (io.Writer, error) { return io.Discard, nil }, File: to}
	form := "--b\r\nContent-Disposition: form-data; name=\"core\"; filename=\"x\"\r\n\r\nMDMP\r\n--b\r\nContent-Disposition: form-data; name=\"log\"; filename=\"/etc/a.log\"\r\n\r\na line\r\n\r\n--b--\r\n"
	if _, err := Form("multipart/form-data; boundary=b", strings.NewReader(form), into); err != nil {
		t.Fatal(err)
	}
	if _, err := Envelope(strings.NewReader("{}\n"+`{"type":"attachment","filename":"shot.png","length":3}`+"\n\x00\n\x01\n"), into); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got["a.log"].String() != "a line\r\n" || got["shot.png"].String() != "\x00\n\x01" {
		t.Errorf("%v", got)
	}
}
