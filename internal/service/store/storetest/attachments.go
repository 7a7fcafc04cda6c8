package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// What came with an upload is bounded, in the order in which it came, counted with its bytes, and goes with it.
func testAttachments(t *testing.T, db store.Store) {
	ctx := t.Context()
	at := time.Unix(1_700_000_000, 0)
	put := func(project, id, event string, i int) {
		t.Helper()
		if _, err := db.AddUpload(ctx, store.Upload{Project: project, ID: id, SHA256: id, Size: 100, Event: event, Received: at.Add(time.Duration(i) * time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	event := strings.Repeat("e", 32)
	put("p", "d1", event, 1)
	put("p", "d2", event, 2)
	put("p", "d3", "", 3)
	put("q", "d9", "", 4)
	for project, want := range map[string]string{"p": "d2", "q": ""} {
		if id, err := db.OfEvent(ctx, project, event); id != want || want == "" && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %q %v", project, id, err)
		}
	}
	if id, err := db.OfEvent(ctx, "p", ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no event: %q %v", id, err)
	}
	file := func(i int, size int64) store.Attachment {
		return store.Attachment{SHA256: fmt.Sprintf("%064d", i), Name: "a \xff\x00<b>", Type: "image/png", Size: size}
	}
	left, err := db.Attach(ctx, "p", "d1", []store.Attachment{file(9, 40), file(2, 30), file(9, 40), file(3, 31), file(4, 30)}, 100)
	if err != nil || len(left) != 1 || left[0] != file(3, 31) {
		t.Errorf("%v %v", left, err)
	}
	if left, err := db.Attach(ctx, "p", "d1", []store.Attachment{file(9, 40), file(5, 1)}, 100); err != nil || len(left) != 1 || left[0].Size != 1 { // it was sent again
		t.Errorf("%v %v", left, err)
	}
	want := []store.Attachment{file(9, 40), file(2, 30), file(4, 30)}
	if list, err := db.Attachments(ctx, "p", "d1"); err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%v %v", list, err)
	}
	var many []store.Attachment
	for i := range store.MaxAttachments + 2 {
		many = append(many, file(100+i, 1))
	}
	if left, err := db.Attach(ctx, "p", "d2", many, 1000); err != nil || len(left) != 2 {
		t.Errorf("%v %v", left, err)
	}
	if u, err := db.Upload(ctx, "p", "d1"); err != nil || u.Attached != 100 || u.Event != event {
		t.Errorf("%+v %v", u, err)
	}
	for _, id := range []string{"d1", "zz"} {
		if _, err := db.Attach(ctx, "q", id, want, 1000); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another project's: %v", err)
		}
		if _, err := db.AddFeedback(ctx, "q", id, store.Feedback{Text: "x"}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another project's: %v", err)
		}
	}
	if list, err := db.Attachments(ctx, "q", "d9"); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	said := store.Feedback{Name: "Ann", Email: "a@b", Text: "it <died> \x00", At: at}
	for i := range store.MaxFeedback + 3 {
		x := said
		if i > 1 { // the first is said twice
			x.Text, x.At = fmt.Sprint(i), at.Add(time.Duration(i)*time.Second)
		}
		if kept, err := db.AddFeedback(ctx, "p", "d1", x); err != nil || kept != (i <= store.MaxFeedback) {
			t.Fatal(i, kept, err)
		}
	}
	if kept, err := db.AddFeedback(ctx, "p", "d1", said); err != nil || !kept { // it is there
		t.Fatal(kept, err)
	}
	list, err := db.Feedback(ctx, "p", "d1")
	if err != nil || len(list) != store.MaxFeedback || !list[0].At.Equal(at) || list[0].Text != said.Text || list[0].Email != said.Email || list[1].Text != "2" {
		t.Errorf("%d %+v %v", len(list), list, err)
	}
	// The bytes count, and what is removed is told.
	gone, err := db.Forget(ctx, "p", store.Retention{Bytes: 300}, 10)
	if err != nil || len(gone) != 1 || gone[0].ID != "d1" || !reflect.DeepEqual(gone[0].Attachments, want) {
		t.Errorf("%+v %v", gone, err)
	}
	if files, err := db.Remove(ctx, "p", "d2"); err != nil || len(files) != store.MaxAttachments {
		t.Errorf("%v %v", files, err)
	}
	put("p", "d1", "", 5)
	put("p", "d2", "", 6)
	for _, id := range []string{"d1", "d2"} {
		files, err1 := db.Attachments(ctx, "p", id)
		words, err2 := db.Feedback(ctx, "p", id)
		if err := errors.Join(err1, err2); err != nil || len(files)+len(words) > 0 {
			t.Errorf("%s has what another dump had: %v %v %v", id, files, words, err)
		}
	}
}
