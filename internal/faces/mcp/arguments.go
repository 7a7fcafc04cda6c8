package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// A tool answers questions with text. It is in JSON what a client is told of it.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Schema      schema `json:"inputSchema"`
	Hints       hints  `json:"annotations"`

	answer func(context.Context, json.RawMessage) (*answer, error)
}

// hints say what a tool may do.
type hints struct {
	ReadOnly   bool `json:"readOnlyHint"`
	Idempotent bool `json:"idempotentHint"`
}

// A schema is a JSON schema of arguments: integers, texts and lists of texts.
type schema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties,omitempty"`
	Required   []string            `json:"required,omitempty"`
	Others     bool                `json:"additionalProperties"`
}

type property struct {
	Type        string            `json:"type"`
	Items       map[string]string `json:"items,omitempty"`
	Description string            `json:"description"`

	index []int
}

// question makes a tool. In is a struct: an argument is a field of type int, string or []string with its name and, if it may be left out,
// omitempty in the tag json, and what it is in the tag doc.
func question[In any](name, description string, f func(context.Context, In) (*answer, error)) tool {
	s := schemaOf(reflect.TypeFor[In]())
	return tool{Name: name, Description: description, Schema: s, Hints: hints{true, true}, answer: func(ctx context.Context, args json.RawMessage) (*answer, error) {
		var in In
		if err := s.decode(args, reflect.ValueOf(&in).Elem()); err != nil {
			return nil, err
		}
		return f(ctx, in)
	}}
}

// text is the answer to a call, or why there is none.
func (t *tool) text(ctx context.Context, args json.RawMessage) (text string, failed bool) {
	a, err := t.answer(ctx, args)
	if err != nil {
		// An error may have names of the dump in it.
		a = &answer{head: "This could not be answered:", lines: []string{report.Clean(err.Error())}}
	}
	return a.text(), err != nil
}

func schemaOf(in reflect.Type) schema {
	s := schema{Type: "object", Properties: map[string]property{}}
	for _, f := range reflect.VisibleFields(in) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // an embedded struct: its fields follow
		}
		p := property{Description: f.Tag.Get("doc"), index: f.Index}
		switch f.Type.Kind() {
		case reflect.Int:
			p.Type = "integer"
		case reflect.String:
			p.Type = "string"
		case reflect.Slice:
			p.Type, p.Items = "array", map[string]string{"type": "string"}
		}
		s.Properties[name] = p
		if option != "omitempty" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// decode sets the fields of a struct. What is null is not given.
func (s schema) decode(args json.RawMessage, to reflect.Value) error {
	var given map[string]json.RawMessage
	if len(args) > 0 && json.Unmarshal(args, &given) != nil {
		return errors.New("arguments must be an object")
	}
	for name, raw := range given {
		p, ok := s.Properties[name]
		switch {
		case !ok:
			return fmt.Errorf("there is no argument %.100q", name)
		case bytes.Equal(raw, []byte("null")):
			delete(given, name)
			continue
		}
		field := to.FieldByIndex(p.index)
		var err error
		switch p.Type {
		case "integer":
			var n int
			if n, err = integer(raw); err == nil {
				field.SetInt(int64(n))
			}
		default:
			err = json.Unmarshal(raw, field.Addr().Interface())
		}
		if err != nil {
			what := map[string]string{"integer": "an integer", "string": "a text", "array": "a list of texts"}[p.Type]
			return fmt.Errorf("the argument %s must be %s", name, what)
		}
	}
	for _, name := range s.Required {
		if given[name] == nil {
			return fmt.Errorf("the argument %s is missing: %s", name, s.Properties[name].Description)
		}
	}
	return nil
}

// integer reads an integer, which some clients write as 2.0.
func integer(raw []byte) (int, error) {
	if n, err := strconv.Atoi(string(raw)); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0, err
	}
	const exact = 1 << 53
	if f != math.Trunc(f) || math.Abs(f) > exact {
		return 0, errors.New("not an integer")
	}
	if f > math.MaxInt || f < math.MinInt {
		return 0, errors.New("too large")
	}
	return int(f), nil
}
