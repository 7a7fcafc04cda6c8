package rootfs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/format/decompress"
)

// A container has the files of an OCI layout or of an archive of docker save.
type container interface {
	part(name string) (*part, error)
}

// A layer is a file in a container.
type layer struct {
	in   container
	name string
}

// directory is an unpacked container. Links lead nowhere outside of it.
type directory struct{ root *os.Root }

func (d directory) part(name string) (*part, error) {
	st, err := d.root.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%.100q is not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	p, err := newPart(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	p.alone = true
	return p, nil
}

// Limits of a container. Those of all its documents together are among an image's budgets.
const (
	maxJSON   = 8 << 20 // bytes of a document
	maxListed = 1 << 13 // what one document may list: manifests, layers, images
	maxRoots  = 64
	maxLayers = 512
	maxNested = 4 // indexes in indexes
)

// documented returns an error once the indexes and manifests of a container have taken too long to read.
func (b *budgets) documented() error {
	if b.documents >= 0 && b.json >= 0 && b.parts >= 0 {
		return nil
	}
	return fmt.Errorf("it has more than %d indexes, manifests and configurations, or they list more than %d parts or have more than %d MB; the images that follow are not known: give one that has only the image that is needed: %w",
		maxDocuments, maxParts, maxDocumentBytes>>20, decompress.ErrTooLarge)
}

// readJSON reads a file of JSON.
func readJSON(im *Image, in container, name string, to any) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	im.left.documents--
	if err := im.left.documented(); err != nil {
		return err
	}
	p, err := in.part(name)
	if err != nil {
		return err
	}
	if p.alone {
		defer p.file.Close()
	}
	r, err := p.raw(im)
	if err != nil {
		return err
	}
	defer r.Close()
	im.left.json -= min(p.size, maxJSON)
	return parse(interrupted{im.ctx, r}, name, to)
}

func parse(r io.Reader, name string, to any) error {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxJSON:
		return fmt.Errorf("%s: longer than %d bytes: %w", name, maxJSON, decompress.ErrTooLarge)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// A listOf is a list in a document. It is read as far as maxListed: three bytes of JSON become a hundred of memory.
type listOf[T any] []T

func (l *listOf[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	if string(b) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("a list is expected")
	}
	for d.More() {
		if len(*l) == maxListed {
			return fmt.Errorf("it lists more than %d manifests or layers: %w", maxListed, decompress.ErrTooLarge)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return err
		}
		*l = append(*l, v)
	}
	return nil
}

// openContainer finds the images in a container. If it is both, it is read as an OCI layout.
func (im *Image) openContainer(in container) error {
	err := im.openOCI(in)
	if len(im.roots) == 0 {
		if derr := im.openDocker(in); len(im.roots) > 0 || err == nil || errors.Is(err, fs.ErrNotExist) {
			err = derr
		}
	}
	if err == nil && len(im.roots) == 0 {
		err = errors.New("no image in it")
	}
	if len(im.roots) > 1 {
		for i, r := range im.roots {
			r.path = fmt.Sprintf("%s@%s", im.path, rootName(i, r))
		}
	}
	return err
}

// rootName tells the images of a container apart.
func rootName(i int, r *Root) string {
	for _, c := range r.arch {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			return fmt.Sprint(i + 1)
		}
	}
	return strings.Trim(fmt.Sprintf("%d-%s", i+1, r.arch), "-")
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type descriptor struct {
	MediaType string    `json:"mediaType"`
	Digest    string    `json:"digest"`
	Platform  *platform `json:"platform"`
}

// ociDocument is an index or a manifest.
type ociDocument struct {
	Manifests listOf[descriptor] `json:"manifests"`
	Config    descriptor         `json:"config"`
	Layers    listOf[descriptor] `json:"layers"`
}

// blobName is where a blob is in an OCI layout.
func blobName(digest string) (string, error) {
	algorithm, hex, ok := strings.Cut(digest, ":")
	if !ok || algorithm != "sha256" && algorithm != "sha512" || hex == "" || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%.100q is no digest", digest)
	}
	return path.Join("blobs", algorithm, hex), nil
}

func (im *Image) openOCI(in container) error {
	var index ociDocument
	if err := readJSON(im, in, "index.json", &index); err != nil {
		return err
	}
	l := &layout{im: im, in: in, seen: map[string]bool{}, within: map[string]bool{}}
	return l.index(&index)
}

// A layout is an OCI layout that is being read. Each of its blobs is read once, however often it is named.
type layout struct {
	im     *Image
	in     container
	seen   map[string]bool // documents, by the names of their blobs
	within map[string]bool // indexes that lead to the one that is read
}

// index reads what an index lists. An error is that of the last that could not be read, or of one after which nothing can be.
func (l *layout) index(index *ociDocument) (failed error) {
	for _, d := range index.Manifests {
		if len(l.im.roots) == maxRoots {
			l.im.note("%s: it has more than %d images, of which the first are known", l.im.path, maxRoots)
			return nil
		}
		l.im.left.parts--
		if err := l.im.left.documented(); err != nil {
			return err
		}
		if p := d.Platform; p != nil && p.OS == "unknown" {
			continue // an attestation
		}
		if err := l.document(d); err != nil { // a layout may have the manifests of platforms that it has no blobs of
			failed = err
		}
		if err := cmp.Or(l.im.ctx.Err(), l.im.left.documented()); err != nil {
			return err
		}
	}
	return failed
}

// document reads an index or a manifest.
func (l *layout) document(d descriptor) error {
	name, err := blobName(d.Digest)
	switch {
	case err != nil:
		return err
	case l.within[name]:
		return fmt.Errorf("%.100s: an index that leads to itself: the layout is damaged, make it again or give the unpacked root directory", name)
	case l.seen[name]:
		return nil
	}
	l.seen[name] = true
	var doc ociDocument
	if err := readJSON(l.im, l.in, name, &doc); err != nil {
		return err
	}
	if len(doc.Manifests) == 0 {
		l.image(d, &doc)
		return nil
	}
	if len(l.within) == maxNested {
		return fmt.Errorf("%.100s: more than %d indexes lead from one to the next: %w", name, maxNested, decompress.ErrTooLarge)
	}
	l.within[name] = true
	defer delete(l.within, name)
	return l.index(&doc)
}

// image adds the image of a manifest.
func (l *layout) image(d descriptor, doc *ociDocument) {
	r := &Root{im: l.im, path: l.im.path}
	var config platform
	switch name, err := blobName(doc.Config.Digest); {
	case d.Platform != nil:
		r.arch = d.Platform.Architecture
	case err == nil && readJSON(l.im, l.in, name, &config) == nil:
		r.arch = config.Architecture
	}
	var names []string
	for _, of := range doc.Layers {
		name, err := blobName(of.Digest)
		if err != nil {
			l.im.note("%s: a layer: %v", l.im.path, err)
			continue
		}
		names = append(names, name)
	}
	l.im.add(r, l.in, names)
}

// add adds an image with the layers of these names, unless there is one with the same.
func (im *Image) add(r *Root, in container, names []string) {
	if len(names) > maxLayers {
		im.note("%s: an image has %d layers, of which the first %d are known", im.path, len(names), maxLayers)
		names = names[:maxLayers]
	}
	im.left.parts -= int64(len(names))
	for _, name := range names {
		if n := len(r.layers); n == 0 || r.layers[n-1].name != name { // over itself, a layer changes nothing
			r.layers = append(r.layers, layer{in, name})
		}
	}
	same := func(other *Root) bool { return other.arch == r.arch && slices.Equal(other.layers, r.layers) }
	if !slices.ContainsFunc(im.roots, same) {
		im.roots = append(im.roots, r)
	}
}

// dockerImage is an entry of the manifest.json of docker save.
type dockerImage struct {
	Config string
	Layers listOf[string]
}

func dockerManifests(r io.Reader) (list listOf[dockerImage], err error) {
	return list, parse(r, "manifest.json", &list)
}

func (im *Image) openDocker(in container) error {
	var list listOf[dockerImage]
	if err := readJSON(im, in, "manifest.json", &list); err != nil {
		return err
	}
	for _, d := range list[:min(len(list), maxRoots)] {
		r := &Root{im: im, path: im.path}
		var config platform
		if readJSON(im, in, d.Config, &config) == nil {
			r.arch = config.Architecture
		}
		im.add(r, in, d.Layers)
		if err := cmp.Or(im.ctx.Err(), im.left.documented()); err != nil {
			return err
		}
	}
	return nil
}
