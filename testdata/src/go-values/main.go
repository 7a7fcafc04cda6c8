// Variables of Go whose values lie elsewhere: in interfaces, on the heap, in slots of maps that have addresses.
package main

import (
	"bytes"
	"context"
	"errors"
	"fixtures/deep/go-values/dep"
	other "fixtures/deep/go-values/other/dep"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"runtime"
	"time"
)

type large struct {
	Pad  [20]int
	Name string
}

type point struct{ X, Y int }

var kept []any

//go:noinline
func stop(n int) {
	if n > 0 {
		var p *int
		*p = n
	}
}

// escaped has variables on the heap, parameters among them, which are no longer what was passed.
//
//go:noinline
func escaped(count int, at point, text string) (result int) {
	kept = append(kept, &count, &at, &result)
	total := 5
	kept = append(kept, &total)
	count, at.Y, result = 9, 8, 7
	total += count
	stop(len(os.Args))
	return total + len(text)
}

//go:noinline
func held() {
	var opts any = dep.Opts{Host: "localhost", Port: 8080}
	var level any = dep.Level(3)
	var named any = other.Level("high")
	var err error = dep.Err{Code: 42, Why: "boom"}
	var pointer any = &point{1, 2}
	date := time.Date(2024, 2, 29, 13, 14, 15, 123456789, time.FixedZone("east", 3600))
	var never time.Time
	now := time.Unix(1700000000, 5)
	list := []any{opts, []dep.Level{1, 2}, nil, 2.5}
	big := map[large]large{{Name: "key"}: {Name: "value"}}
	escaped(1, point{2, 3}, "s")
	kept = append(kept, opts, level, named, err, pointer, list, big, date, never, now)
}

type box struct {
	room, head, tail []int
	when             time.Time
	name             string
	pair             pair
}

type pair struct{ left, right int }

//go:noinline
func plus(n int) int { return n + len(os.Args) - 1 }

// apart has variables of several words, some of which are constants: an optimising compiler keeps the others only.
//
//go:noinline
func apart(text []int, pass string) (result []int) {
	room := make([]int, 0, plus(5))
	head := text[:plus(2)]
	tail := text[plus(1):]
	when := time.Unix(int64(plus(1000)), 0)
	name := "constant"
	pairs := pair{left: 3}
	pairs.right = plus(11)
	if plus(0) > 3 {
		name, result = pass, text
	}
	b := &box{room: room}
	held()
	b.head, b.when, b.name, b.pair = head, when, name, pairs
	kept = append(kept, b, len(tail), len(pass), cap(text))
	for _, n := range tail {
		result = append(result, n)
	}
	return result
}

//go:noinline
func wait(number int, on chan int) int { return <-on + number }

type tone int

const (
	low tone = iota
	middle
	high
	loud
)

type access uint8

const (
	canRead access = 1 << iota
	canWrite
	canRun
)

type twice uint8

const (
	once twice = iota + 1
	both
)

type person struct {
	Name string
	Next *person
}

type many struct{ List [50]point }

type huge struct{ Pad [600]int }

type holder struct{ Any any }

type key string

// told has pointers to what says more than an address, and numbers that have names.
//
//go:noinline
func told(p, nobody *person, number *big.Int, link *url.URL, err error, ctx context.Context) {
	t, strange, odd := tone(plus(2)), tone(plus(5)), tone(plus(-1))
	a, all, much := access(plus(1)), access(plus(5)), access(plus(9))
	two, three := twice(plus(2)), twice(plus(3))
	span, mode, day := time.Duration(plus(90_000_000_000)), fs.FileMode(plus(0o644)), time.Weekday(plus(3))
	text, count := &p.Name, &os.Args
	again := &p
	long, wide, holds := &many{}, &huge{}, &holder{p}
	for i := range long.List {
		long.List[i] = point{plus(i), 7}
	}
	apart([]int{1, 2, 3}, "passed")
	kept = append(kept, p, nobody, number, link, err, ctx, t, strange, odd, a, all, much, two, three, span, mode, day, text, count, again, long, wide, holds)
}

func main() {
	if len(os.Args) > 1 {
		on := make(chan int)
		for i := 0; i < 300; i++ {
			go wait(i, on)
		}
		stacks := make([]byte, 1<<20)
		for waiting := 0; waiting < 300; {
			time.Sleep(10 * time.Millisecond)
			waiting = bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("[chan receive]"))
		}
	}
	number := new(big.Int).SetBits([]big.Word{0, 2}) // 2 to the 65
	link, _ := url.Parse("https://example.com:8080/path?q=1")
	err := fmt.Errorf("load: %w", &fs.PathError{Op: "open", Path: "/etc/x", Err: errors.New("gone")})
	ctx := context.WithValue(context.Background(), key("user"), "ann")
	shaped(&person{Name: "eve"}, func() { told(&person{"ann", &person{Name: "bob"}}, nil, number, link, err, ctx) })
}

// shaped has a pointer of which Go's compiler says that it is one to a byte.
//
//go:noinline
func shaped[T any](of T, then func()) {
	then()
	kept = append(kept, of)
}
