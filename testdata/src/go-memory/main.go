// Program memory fills its heap with objects of known types, writes down how many there are, and dies.
// usage: memory LOG
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

type order struct {
	id    int
	note  string
	next  *order
	lines []line
}

type line struct {
	price int
	text  *string
}

type shape interface{ area() float64 }

type circle struct {
	r    float64
	name *string
}

func (c *circle) area() float64 { return c.r }

type event struct {
	kind int
	data [60]byte
}

var (
	head   *order
	byID   = map[int]*event{}
	shapes []shape
	big    []byte
	queue  = make(chan *event, 100)
)

func main() {
	const n = 3000
	text := "text"
	for i := 0; i < n; i++ {
		head = &order{id: i, note: fmt.Sprintf("note %d of some length", i), next: head, lines: make([]line, 5)}
		byID[i] = &event{kind: i}
		shapes = append(shapes, &circle{1, &text})
	}
	big = make([]byte, 20<<20)
	started, never := make(chan bool), make(chan bool)
	for i := 0; i < 100; i++ {
		queue <- &event{}
		go func() { // its stack alone has it
			e := &event{kind: -1}
			started <- true
			<-never
			fmt.Println(e)
		}()
		<-started
	}
	runtime.GC()
	runtime.GC()
	debug.SetGCPercent(-1)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f, _ := os.Create(os.Args[1])
	fmt.Fprintln(f, m.HeapObjects, m.HeapAlloc)
	fmt.Fprintf(f, "main.order %d\nmain.line[] %d\nmain.event %d\nmain.circle %d\n", n, n, n, n)
	f.Close()
	panic("done")
}
