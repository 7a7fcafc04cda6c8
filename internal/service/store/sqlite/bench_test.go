package sqlite

import (
	"testing"

	"github.com/corewalk/corewalk/internal/service/store/storetest"
)

func BenchmarkStore(b *testing.B) { storetest.Bench(b, open(b)) }
