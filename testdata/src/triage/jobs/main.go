// set: tune
// A queue of jobs with retries.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
)

type job struct {
	id    int
	deps  []*job
	run   func() error
	owner *owner
}

type owner struct{ name string }

type queue[T any] struct {
	items []T
	seen  map[int]bool
}

// bug: empty-pop 2
func (q *queue[T]) pop() T {
	v := q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return v
}

// bug: nil-map 2 (queues are made without one)
func (q *queue[T]) mark(id int) { q.seen[id] = true }

func (q *queue[T]) push(v T, id int) {
	q.items = append(q.items, v)
	q.mark(id)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// bug: no-owner 2
func (j *job) title() string { return fmt.Sprint(j.id) + j.owner.name }

func titles(jobs []*job) []string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.title())
	}
	return out
}

// bug: config-missing 1 (must is right to panic: the file should have been there)
func config() []byte {
	b, err := os.ReadFile("/nonexistent/config")
	must(err)
	return b
}

// bug: run-failed 1
func (j *job) start() {
	must(j.run())
}

// bug: nil-run 2
func (j *job) retry(n int) error {
	var err error
	for range n {
		if err = j.run(); err == nil {
			return nil
		}
	}
	return err
}

func retryAll(jobs []*job) error {
	for _, j := range jobs {
		if err := j.retry(3); err != nil {
			return err
		}
	}
	return nil
}

// bug: endless-deps 2
func (j *job) cost() int {
	sum := j.id
	for _, d := range j.deps {
		sum += d.cost()
	}
	return sum + 1
}

func cheapest(jobs []*job) *job {
	sort.Slice(jobs, func(a, b int) bool { return jobs[a].cost() < jobs[b].cost() })
	return jobs[0]
}

// bug: wrong-type 2
func number(v any) int { return v.(int) + 1 }

func numbers(list ...any) (n int) {
	for _, v := range list {
		n += number(v)
	}
	return n
}

func main() {
	debug.SetMaxStack(1 << 17)
	bug, second := os.Args[1], os.Args[2] == "b"
	j := &job{id: len(os.Args)}
	q := &queue[*job]{}
	switch bug {
	case "empty-pop":
		if second {
			(&queue[int]{}).pop()
		}
		q.pop()
	case "nil-map":
		if second {
			q.mark(3)
		}
		q.push(j, 4)
	case "no-owner":
		if second {
			fmt.Println(j.title())
		}
		fmt.Println(titles([]*job{j}))
	case "config-missing":
		config()
	case "run-failed":
		j.run = func() error { return errors.New("failed") }
		j.start()
	case "nil-run":
		if second {
			j.retry(2)
		}
		retryAll([]*job{j})
	case "endless-deps":
		j.deps = []*job{j}
		if second {
			cheapest([]*job{j, j})
		}
		j.cost()
	case "wrong-type":
		if second {
			number("x")
		}
		numbers(1, 2.5)
	}
}
