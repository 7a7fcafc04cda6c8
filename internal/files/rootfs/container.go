package rootfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
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

// Limits of a container.
const (
	maxJSON   = 8 << 20
	maxRoots  = 64
	maxLayers = 512
	maxNested = 4 // indexes in indexes
)

// readJSON reads a file of JSON.
func readJSON(im *Image, in container, name string, to any) error {
	p, err := in.part(name)
	if err != nil {
		return err
	}
	if p.alone {
		defer p.file.Close()
	}
	r, err := p.raw(im.ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	return parse(r, name, to)
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
	Manifests []descriptor `json:"manifests"`
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
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
	return im.ociIndex(in, &index, 0)
}

func (im *Image) ociIndex(in container, index *ociDocument, depth int) (failed error) {
	for _, d := range index.Manifests {
		if len(im.roots) == maxRoots || depth == maxNested {
			return nil
		}
		if p := d.Platform; p != nil && p.OS == "unknown" {
			continue // an attestation
		}
		var doc ociDocument
		name, err := blobName(d.Digest)
		if err == nil {
			err = readJSON(im, in, name, &doc)
		}
		switch {
		case err != nil: // a layout may have the manifests of platforms that it has no blobs of
			failed = err
		case len(doc.Manifests) > 0:
			if err := im.ociIndex(in, &doc, depth+1); err != nil {
				failed = err
			}
		default:
			im.ociImage(in, d, &doc)
		}
	}
	return failed
}

// ociImage adds the image of a manifest.
func (im *Image) ociImage(in container, d descriptor, doc *ociDocument) {
	r := &Root{im: im, path: im.path}
	var config platform
	switch name, err := blobName(doc.Config.Digest); {
	case d.Platform != nil:
		r.arch = d.Platform.Architecture
	case err == nil && readJSON(im, in, name, &config) == nil:
		r.arch = config.Architecture
	}
	for _, l := range doc.Layers[:min(len(doc.Layers), maxLayers)] {
		name, err := blobName(l.Digest)
		if err != nil {
			im.note("%s: a layer: %v", im.path, err)
			continue
		}
		r.layers = append(r.layers, layer{in, name})
	}
	im.roots = append(im.roots, r)
}

// dockerImage is an entry of the manifest.json of docker save.
type dockerImage struct {
	Config string
	Layers []string
}

func dockerManifests(r io.Reader) (list []dockerImage, err error) {
	return list, parse(r, "manifest.json", &list)
}

func (im *Image) openDocker(in container) error {
	var list []dockerImage
	if err := readJSON(im, in, "manifest.json", &list); err != nil {
		return err
	}
	for _, d := range list[:min(len(list), maxRoots)] {
		r := &Root{im: im, path: im.path}
		var config platform
		if readJSON(im, in, d.Config, &config) == nil {
			r.arch = config.Architecture
		}
		for _, name := range d.Layers[:min(len(d.Layers), maxLayers)] {
			r.layers = append(r.layers, layer{in, name})
		}
		im.roots = append(im.roots, r)
	}
	return nil
}
