package systemtest

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/corewalk/corewalk/docs/schema"
	"github.com/corewalk/corewalk/report"
)

// schemas are the compiled schemas, which here allow no key that they do not list.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	out := map[string]*jsonschema.Schema{}
	for _, name := range schema.Names() {
		data, err := schema.Get(name)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		for _, def := range doc.(map[string]any)["$defs"].(map[string]any) {
			def.(map[string]any)["additionalProperties"] = false
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(name+".json", doc); err != nil {
			return nil, err
		}
		if out[name], err = c.Compile(name + ".json"); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// validate holds a document against a schema.
func validate(t *testing.T, name string, document []byte) {
	t.Helper()
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := all[name].Validate(doc); err != nil {
		t.Errorf("the JSON does not fit docs/schema/%s.json: %v", name, err)
	}
}

// validReport holds the JSON of a report against its schema.
func validReport(t *testing.T, r *report.Report) {
	t.Helper()
	var js bytes.Buffer
	if err := report.WriteJSON(&js, r); err != nil {
		t.Fatal(err)
	}
	validate(t, "report", js.Bytes())
}

// TestSchemaRefuses: a key too many, one too few, and a value of another type do not fit.
func TestSchemaRefuses(t *testing.T) {
	all, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	var js bytes.Buffer
	if err := report.WriteJSON(&js, &report.Report{}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []func(map[string]any){
		func(d map[string]any) { d["more"] = 1 },
		func(d map[string]any) { delete(d, "threads") },
		func(d map[string]any) { d["warnings"] = "none" },
		func(d map[string]any) { d["schema"] = "corewalk/2" },
		func(d map[string]any) { d["dump"].(map[string]any)["pid"] = "7" },
	} {
		var doc map[string]any
		if err := json.Unmarshal(js.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		bad(doc)
		if all["report"].Validate(any(doc)) == nil {
			t.Errorf("%v fits", doc)
		}
	}
}
