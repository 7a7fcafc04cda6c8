// Command fits NAME holds each line of its standard input against a schema that allows no further keys. It is a program of its own because a library
// for schemas takes long to start, and the tests of commands start their binary hundreds of times.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/corewalk/corewalk/docs/schema"
)

func main() {
	if err := fits(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fits(name string) error {
	data, err := schema.Get(name)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for _, def := range doc.(map[string]any)["$defs"].(map[string]any) {
		def.(map[string]any)["additionalProperties"] = false
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		return err
	}
	s, err := c.Compile(name)
	if err != nil {
		return err
	}
	lines := 0
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for ; in.Scan(); lines++ {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(in.Bytes()))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, in.Bytes())
		}
	}
	if lines == 0 {
		return fmt.Errorf("no lines")
	}
	return in.Err()
}
