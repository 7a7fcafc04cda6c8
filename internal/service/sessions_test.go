package service_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/question"
)

// talks are conversations about texts. What is said of a text: its questions again, as the name of a stack.
type talks struct {
	begun, ended atomic.Int64
	mu           sync.Mutex
	// say, if set, answers in place of that; an error ends the conversation
	say func(text string, q question.Question) (answer string, err error)
}

type conversation struct {
	io.Reader
	io.Writer
	end func() error
}

func (c conversation) Close() error { return c.end() }

// talk is an Ask of texts.
func talk(k *talks) func(ctx context.Context, project, path string) (service.Conversation, error) {
	if k == nil {
		k = new(talks)
	}
	return func(_ context.Context, _, path string) (service.Conversation, error) {
		k.begun.Add(1)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		asked, ask := io.Pipe()
		answers, answer := io.Pipe()
		go func() {
			lines := bufio.NewScanner(asked)
			for lines.Scan() {
				var q question.Question
				_ = json.Unmarshal(lines.Bytes(), &q)
				b, _ := json.Marshal(question.Answer{Stacks: []question.Stack{{Name: fmt.Sprintf("%s: %s", text, lines.Bytes())}}})
				said := string(b)
				var err error
				k.mu.Lock()
				say := k.say
				k.mu.Unlock()
				if say != nil {
					said, err = say(string(text), q)
				}
				if err != nil {
					break
				}
				io.WriteString(answer, said+"\n")
			}
			answer.Close()
			asked.Close()
		}()
		return conversation{answers, ask, sync.OnceValue(func() error {
			k.ended.Add(1)
			ask.Close()
			answers.Close()
			return errors.New("it died of something")
		})}, nil
	}
}

func (k *talks) set(say func(text string, q question.Question) (string, error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.say = say
}

// until waits for something.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// Questions reach the process that has the dump open, which stays open for the next one; more dumps than may be open make others close.
func TestOpenDumps(t *testing.T) {
	k := new(talks)
	w := start(t, func(c *service.Config) { c.Ask = talk(k) })
	var ids []string
	for i := range service.MaxOpen + 2 {
		ids = append(ids, w.send(fmt.Sprintf("group g%d build b", i)).ID)
	}
	path := func(i int) string { return "/api/v1/projects/a/dumps/" + ids[i] }
	for asked, want := range map[string]string{
		"/about": `{"ask":"about","count":100}`, "/stacks?first=7&count=3": `{"ask":"stacks","first":7,"count":3}`, "/stacks/5/frames?count=0": `{"ask":"frames","stack":5}`,
		"/modules?first=2&count=3":                         `{"ask":"modules","first":2,"count":3}`,
		"/stacks/5/frames/6/variables?path=0.17.2&first=1": `{"ask":"variables","stack":5,"frame":6,"path":[0,17,2],"first":1,"count":100}`,
	} {
		var a question.Answer
		if w.want(200, &a, "GET", path(0)+asked, ""); len(a.Stacks) != 1 || a.Stacks[0].Name != "group g0 build b: "+want {
			t.Errorf("%s: %+v", asked, a)
		}
	}
	if n := k.begun.Load(); n != 1 {
		t.Errorf("opened %d times", n)
	}
	for _, wrong := range []string{"/stacks?first=-1", "/stacks?count=501", "/modules?count=501", "/stacks/x/frames", "/stacks/-1/frames", "/stacks/0/frames/99999999999/variables", "/stacks/0/frames/0/variables?path=0..1", "/stacks/0/frames/0/variables?path=-1",
		"/stacks/0/frames/0/variables?path=0" + strings.Repeat(".0", question.MaxPath)} {
		w.want(400, nil, "GET", path(0)+wrong, "")
	}
	for i := range ids {
		w.want(200, nil, "GET", path(i)+"/stacks", "")
	}
	until(t, "more dumps are open than may be", func() bool { return k.begun.Load()-k.ended.Load() <= service.MaxOpen })
	begun := k.begun.Load()
	w.want(200, nil, "GET", path(len(ids)-1)+"/stacks", "")
	if k.begun.Load() != begun {
		t.Error("the dump that was opened last was closed for others")
	}
	// What may be read in another way from now on, or is removed, is closed.
	w.want(204, nil, "POST", path(len(ids)-1)+"/again", "")
	w.want(200, nil, "GET", path(len(ids)-1)+"/stacks", "")
	if k.begun.Load() != begun+1 {
		t.Error("a dump that is analysed again was not opened again")
	}
	w.analysed(ids[len(ids)-1])
	w.want(204, nil, "DELETE", path(len(ids)-1), "")
	w.want(404, nil, "GET", path(len(ids)-1)+"/stacks", "")
	w.service.Idle(0)
	w.want(200, nil, "GET", path(0)+"/stacks", "")
	until(t, "dumps stay open that nobody asks about", func() bool { return w.service.OpenDumps() == 0 && k.begun.Load() == k.ended.Load() })
}

// A dump that is not kept any longer is closed.
func TestOpenDumpNotKept(t *testing.T) {
	k := new(talks)
	w := start(t, func(c *service.Config) { c.Ask, c.Keep.Age = talk(k), 3*time.Second })
	id := w.send("group g b1").ID
	w.want(200, nil, "GET", "/api/v1/projects/a/dumps/"+id+"/stacks", "")
	until(t, "a dump that was removed is open", func() bool { return k.begun.Load() == 1 && k.ended.Load() == 1 })
	w.want(404, nil, "GET", "/api/v1/projects/a/dumps/"+id, "")
}

// The processes end with the service.
func TestOpenDumpsEnd(t *testing.T) {
	k := new(talks)
	w := start(t, func(c *service.Config) { c.Ask = talk(k) })
	w.want(200, nil, "GET", "/api/v1/projects/a/dumps/"+w.send("group g build b").ID+"/stacks", "")
	w.stop()
	if k.begun.Load() != 1 || k.ended.Load() != 1 {
		t.Errorf("%d were begun, %d ended", k.begun.Load(), k.ended.Load())
	}
}

// A process that dies, does not answer, answers what is no answer or too much is ended, and the next question begins another.
func TestOpenDumpFails(t *testing.T) {
	t.Parallel()
	k := new(talks)
	hang := make(chan struct{})
	w := start(t, func(c *service.Config) {
		c.Ask = talk(k)
	})
	url := "/api/v1/projects/a/dumps/" + w.send("group g build b").ID + "/stacks"
	const not = "does not answer as it should"
	for _, c := range []struct {
		want string
		say  func(string, question.Question) (string, error)
	}{
		{"died of", func(string, question.Question) (string, error) { return "", io.EOF }},
		{"no answer within", func(string, question.Question) (string, error) { <-hang; return "", io.EOF }},
		{not, func(string, question.Question) (string, error) { return "what?", nil }},
		{not, func(string, question.Question) (string, error) {
			return `{"end":"` + strings.Repeat("x", 17<<20) + `"}`, nil
		}},
		{not, func(string, question.Question) (string, error) { return `{"stacks":"all"}`, nil }},
		{`the dump itself \\x1b[31m`, func(string, question.Question) (string, error) { return `{"error":"the dump itself \u001b[31m"}`, nil }},
	} {
		w.service.Patience(time.Minute) // a busy machine answers late
		if strings.HasPrefix(c.want, "no answer") {
			w.service.Patience(time.Second)
		}
		k.set(c.say)
		if text := w.want(422, nil, "GET", url, ""); !strings.Contains(text, c.want) {
			t.Errorf("%s, want %s", text, c.want)
		}
		k.set(nil)
		w.service.Patience(time.Minute)
		w.want(200, nil, "GET", url, "")
	}
	close(hang)
	until(t, "a process is left", func() bool { return k.begun.Load()-k.ended.Load() == 1 })
}

// When as many dumps are being asked about as may be open, others have to wait; a client that goes away takes nobody's answer.
func TestOpenDumpsBusy(t *testing.T) {
	k := new(talks)
	w := start(t, func(c *service.Config) { c.Ask = talk(k) })
	hang := make(chan struct{})
	var waiting atomic.Int64
	k.set(func(text string, q question.Question) (string, error) {
		waiting.Add(1)
		<-hang
		return fmt.Sprintf(`{"end":"%d"}`, q.First), nil
	})
	var ids []string
	for i := range service.MaxOpen + 1 {
		ids = append(ids, w.send(fmt.Sprintf("group g%d build b", i)).ID)
	}
	ctx, leave := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for i := range service.MaxOpen {
		asking.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, "GET", w.url+"/api/v1/projects/a/dumps/"+ids[i]+"/stacks?first=1", nil)
			r.Header.Set("Authorization", "Bearer "+w.token["a read"])
			if a, err := http.DefaultClient.Do(r); err == nil {
				a.Body.Close()
				t.Error("there was an answer")
			}
		})
	}
	until(t, "they do not ask", func() bool { return waiting.Load() == service.MaxOpen })
	w.want(503, nil, "GET", "/api/v1/projects/a/dumps/"+ids[service.MaxOpen]+"/stacks", "")
	leave()
	asking.Wait()
	second := make(chan string)
	go func() {
		_, text, _ := w.do(w.token["a read"], "GET", "/api/v1/projects/a/dumps/"+ids[0]+"/stacks?first=2", nil)
		second <- text
	}()
	close(hang)
	if text := <-second; !strings.Contains(text, `"end":"2"`) {
		t.Errorf("%s: another question's answer", text)
	}
	w.want(200, nil, "GET", "/api/v1/projects/a/dumps/"+ids[service.MaxOpen]+"/stacks", "")
}
