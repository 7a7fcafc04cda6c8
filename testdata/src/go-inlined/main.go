// Dies of a nil in a method that the compiler inlined: the argument says of which. What the method reads of its receiver is its own mistake, a receiver that is
// nil is its caller's.
package main

import (
	"fmt"
	"os"
)

type runner interface{ run(n int) int }

type options struct{ retries int }

type owner struct{ name, mail string }

type job struct {
	name    string
	deps    []string
	do      func(int) int
	by      runner
	options *options
	owner   *owner
}

func (j *job) start(n int) int  { return j.do(n) }
func (j *job) launch(n int) int { return j.by.run(n) + 1 }
func (j *job) retries() int     { return j.options.retries + 1 }

func (o *owner) address() string { return o.name + " <" + o.mail + ">" }
func (j *job) contact() string   { return "mailto:" + j.owner.address() }

func main() {
	jobs := map[string]*job{}
	for _, name := range os.Args[2:] {
		jobs[name] = &job{name: name}
	}
	j := jobs[os.Args[2]]
	mine := &job{name: os.Args[2]}
	switch os.Args[1] {
	case "start":
		fmt.Println(j.start(1))
	case "launch":
		fmt.Println(j.launch(2))
	case "retries":
		fmt.Println(j.retries())
	case "contact":
		fmt.Println(mine.contact())
	}
}
