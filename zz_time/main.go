package main

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptest"
	"os"
	"time"

	"github.com/vapshadow/vapshadow/dashboards/web"
	"github.com/vapshadow/vapshadow/sink"
	"github.com/vapshadow/vapshadow/sink/connect"
)

type timed struct{ sink.Database }

func (t timed) Readiness(ctx context.Context, f sink.Filter, c sink.Criteria) ([]sink.Readiness, error) {
	b := time.Now()
	out, err := t.Database.Readiness(ctx, f, c)
	fmt.Printf("      %7.0f ms readiness %v\n", float64(time.Since(b).Microseconds())/1000, f)
	return out, err
}
func wrap[T any](what string, s iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		b, n := time.Now(), 0
		defer func() { fmt.Printf("      %7.0f ms %s: %d\n", float64(time.Since(b).Microseconds())/1000, what, n) }()
		for v, err := range s {
			n++
			if !yield(v, err) {
				return
			}
		}
	}
}
func (t timed) CountFailures(ctx context.Context, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return wrap(fmt.Sprint("countf ", g.By, g.Every), t.Database.CountFailures(ctx, f, g))
}
func (t timed) CountRollups(ctx context.Context, f sink.Filter, g sink.Grouping) iter.Seq2[sink.Group, error] {
	return wrap(fmt.Sprint("countr ", g.By, g.Every), t.Database.CountRollups(ctx, f, g))
}
func (t timed) Failures(ctx context.Context, f sink.Filter) iter.Seq2[sink.Failure, error] {
	return wrap("failures", t.Database.Failures(ctx, f))
}
func (t timed) Rollups(ctx context.Context, f sink.Filter) iter.Seq2[sink.Rollup, error] {
	return wrap("rollups", t.Database.Rollups(ctx, f))
}

func main() {
	db, err := connect.Open(context.Background(), os.Args[1])
	if err != nil {
		panic(err)
	}
	h, err := web.New(web.Config{Reader: timed{db}, Timeout: 300 * time.Second})
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 2 && os.Args[2] == "seal" {
		seal(db)
		return
	}
	pages := os.Args[2:]
	if len(pages) == 0 {
		pages = []string{"/", "/policy?cluster=prod&policy=policy-3", "/policy?policy=policy-3", "/namespaces", "/namespace?cluster=prod&namespace=team-7", "/workload?cluster=prod&namespace=team-12&kind=ReplicaSet&name=web-12", "/unknowns", "/sources", "/search?result=stopped", "/search?user=user-7"}
	}
	for _, p := range pages {
		for range 2 {
			b := time.Now()
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", "http://127.0.0.1:9081"+p, nil)
			h.ServeHTTP(w, r)
			fmt.Printf("%d %7.2f s  %s\n", w.Code, time.Since(b).Seconds(), p)
		}
	}
}
