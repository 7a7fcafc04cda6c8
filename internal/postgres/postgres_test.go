package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/sqldb"
)

var things = sqldb.Schema{Store: "things", Prefix: "some_", Lock: 7, Migrations: []string{
	"CREATE TABLE some_things (id bigint PRIMARY KEY, name bytea, text text, list text[], data bytea)"}}

// Values come back as they were, but for what a text cannot have; what a transaction did that failed is not there.
func TestConn(t *testing.T) {
	ctx := t.Context()
	pool, err := pgxpool.New(ctx, servers.StartPostgres(t).Connection())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	d, err := Use(ctx, pool, &things)
	if err != nil {
		t.Fatal(err)
	}
	insert := func(id int, name sqldb.Raw) sqldb.Statement {
		return sqldb.Statement{Query: "INSERT INTO @things (id, name, text, list, data) VALUES ($1, $2, $3, $4, $5)",
			Args: []any{id, name, string(name), []string{"x", string(name)}[:id], []byte(nil)}}
	}
	names := []sqldb.Raw{"", "a", "\xff\x00"}
	var batch []sqldb.Statement
	for id, name := range names {
		batch = append(batch, insert(id, name))
	}
	got := ""
	batch = append(batch, sqldb.Statement{Query: "SELECT name, text, list, data FROM @things ORDER BY id", Each: func(r sqldb.Row) error {
		var name sqldb.Raw
		var text string
		var list []string
		var data []byte
		err := r.Scan(&name, &text, &list, &data)
		got += fmt.Sprintf("%q %q %q %v;", name, text, list, data == nil)
		return err
	}})
	if err := d.Tx(ctx, func(tx sqldb.Conn) error { return tx.Batch(ctx, batch) }); err != nil {
		t.Fatal(err)
	}
	if want := `"" "" [] true;"a" "a" ["x"] true;"\xff\x00" "��" ["x" "��"] true;`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	stop := errors.New("stop")
	err = d.Tx(ctx, func(tx sqldb.Conn) error {
		if err := tx.Batch(ctx, []sqldb.Statement{{Query: "DELETE FROM @things"}}); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) || strings.Contains(err.Error(), "things") {
		t.Error(err)
	}
	var id int
	var ids []int
	err = d.Query(ctx, sqldb.Into([]any{&id}, func() { ids = append(ids, id) }), "SELECT id FROM @things WHERE text = ANY($1) ORDER BY id", []string{"a", "\xff\x00"})
	if err != nil || !slices.Equal(ids, []int{1, 2}) {
		t.Error(ids, err)
	}
	if n, err := d.Exec(ctx, "DELETE FROM @things WHERE id > $1", 0); n != 2 || err != nil {
		t.Error(n, err)
	}
	if err := d.Batch(ctx, []sqldb.Statement{insert(0, "again")}); err == nil || !strings.HasPrefix(err.Error(), "things postgres on ") {
		t.Error(err)
	}
}
