package main

import (
	"context"
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

func seal(db sink.Database) {
	b := time.Now()
	if err := db.Seal(context.Background(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)); err != nil {
		panic(err)
	}
	fmt.Println("sealed in", time.Since(b))
}
