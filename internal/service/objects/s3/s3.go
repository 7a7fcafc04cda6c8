// Package s3 stores the files of a crash service in a bucket of S3-compatible storage, for many machines.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/corewalk/corewalk/internal/service/objects"
)

const (
	partSize  = 16 << 20 // bytes; larger files are sent in parts, 10,000 of which are allowed
	threads   = 2        // parts of one file that are sent at once
	openings  = 5        // how often a bucket is asked for again that does not answer
	downloads = 5        // how often a download that broke off is taken up again
)

// Options say where a bucket is, and who asks.
type Options struct {
	Endpoint       string // host, or host:port
	Secure         bool   // TLS
	Region         string // may be empty
	Bucket         string // must be there
	Prefix         string // of all keys: empty, or a clean path without a slash at its end
	Access, Secret string // the key and its secret
	// Dir is a directory of this process alone, for files on their way. What is left there by a process that died is removed.
	Dir string
}

// Store is an objects.Store in a bucket. A file is written to the directory first, since its key is its digest: so memory is
// bounded, and requests that fail are sent again.
type Store struct {
	client *minio.Client
	way    *objects.Dir
	o      Options
	last   atomic.Int64 // names in way
}

// Open returns the store in a bucket. The error is one line if the bucket is not there, or does not answer.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Prefix != "" {
		if err := objects.CheckKey(o.Prefix); err != nil {
			return nil, err
		}
	}
	client, err := minio.New(o.Endpoint, &minio.Options{
		Creds:  credentials.NewStaticV4(o.Access, o.Secret, ""),
		Secure: o.Secure, Region: o.Region,
	})
	if err != nil {
		return nil, fmt.Errorf("object storage %s: %w", o.Endpoint, err)
	}
	there, err := client.BucketExists(ctx, o.Bucket)
	for n := range openings {
		if status := minio.ToErrorResponse(err).StatusCode; err == nil || status > 0 && status < 500 || ctx.Err() != nil {
			break
		}
		time.Sleep(time.Duration(n+1) * 200 * time.Millisecond)
		there, err = client.BucketExists(ctx, o.Bucket)
	}
	if err == nil && !there {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("bucket %s at %s: %w", o.Bucket, o.Endpoint, err)
	}
	way, err := objects.OpenDir(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Store{client: client, way: way, o: o}, nil
}

// name returns the name of a key in the bucket.
func (s *Store) name(key string) (string, error) {
	if err := objects.CheckKey(key); err != nil {
		return "", err
	}
	if s.o.Prefix == "" {
		return key, nil
	}
	return s.o.Prefix + "/" + key, nil
}

// wayKey returns an unused key in the directory of files on their way, where OpenDir removes what was left.
func (s *Store) wayKey() string { return "tmp/way" + strconv.FormatInt(s.last.Add(1), 10) }

// told returns an error as others test for it.
func told(err error) error {
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return errors.Join(fs.ErrNotExist, err)
	}
	return err
}

// New implements objects.Store.
func (s *Store) New(ctx context.Context) (objects.File, error) {
	f, err := s.way.New(ctx)
	if err != nil {
		return nil, err
	}
	return &file{f, s}, nil
}

// Local implements objects.Store: the path is that of a copy, which release removes.
func (s *Store) Local(ctx context.Context, key string) (string, func(), error) {
	name, err := s.name(key)
	if err != nil {
		return "", nil, errors.Join(fs.ErrNotExist, err)
	}
	way := s.wayKey()
	path := s.way.Path(way)
	for range downloads {
		// What arrived is kept beside path, and the next attempt goes on from there.
		err = told(s.client.FGetObject(ctx, s.o.Bucket, name, path, minio.GetObjectOptions{}))
		if err == nil {
			return path, func() { _ = s.way.Remove(context.Background(), way) }, nil
		}
		if ctx.Err() != nil || errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	begun, _ := filepath.Glob(path + "*.part.minio")
	for _, p := range begun {
		_ = s.way.Remove(context.Background(), "tmp/"+filepath.Base(p))
	}
	return "", nil, err
}

// Rename implements objects.Store. There is no renaming in S3: the storage copies, then from is removed. Whoever dies between
// leaves both.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	source, err := s.name(from)
	if err != nil {
		return err
	}
	dest, err := s.name(to)
	if err != nil || source == dest {
		return err
	}
	// ComposeObject copies objects of any size; CopyObject ends at 5 GiB.
	_, err = s.client.ComposeObject(ctx, minio.CopyDestOptions{Bucket: s.o.Bucket, Object: dest}, minio.CopySrcOptions{Bucket: s.o.Bucket, Object: source})
	if err != nil {
		return told(err)
	}
	return s.Remove(ctx, from)
}

// Remove implements objects.Store.
func (s *Store) Remove(ctx context.Context, key string) error {
	name, err := s.name(key)
	if err != nil {
		return err
	}
	if err := told(s.client.RemoveObject(ctx, s.o.Bucket, name, minio.RemoveObjectOptions{})); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements objects.Store.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objects.Listed, error] {
	return func(yield func(objects.Listed, error) bool) {
		name, err := s.name(prefix)
		if err != nil {
			yield(objects.Listed{}, err)
			return
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop() // else it would go on listing
		cut := len(name) - len(prefix)
		for o := range s.client.ListObjects(ctx, s.o.Bucket, minio.ListObjectsOptions{Prefix: name + "/", Recursive: true}) {
			if o.Err != nil {
				yield(objects.Listed{}, told(o.Err))
				return
			}
			if !yield(objects.Listed{Key: o.Key[cut:], Size: o.Size, Changed: o.LastModified}, nil) {
				return
			}
		}
	}
}

// file is written to the directory, and sent when its key is known.
type file struct {
	objects.File
	s *Store
}

// Keep implements objects.File.
func (f *file) Keep(ctx context.Context, key string) error {
	name, err := f.s.name(key)
	if err != nil {
		return err
	}
	way := f.s.wayKey()
	if err := f.File.Keep(ctx, way); err != nil {
		return err
	}
	defer f.s.way.Remove(context.Background(), way)
	_, err = f.s.client.FPutObject(ctx, f.s.o.Bucket, name, f.s.way.Path(way), minio.PutObjectOptions{PartSize: partSize, NumThreads: threads, ContentType: "application/octet-stream"})
	return err
}
