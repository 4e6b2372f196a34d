package sinktest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vapshadow/vapshadow/sink"
)

// content is a checkpoint's content, which no compression makes smaller.
func content(seed uint64, size int) []byte {
	out := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(out)
	return out
}

func checkpoints(t *testing.T, open Open) {
	s := open(t)
	if _, _, err := s.LoadCheckpoint(t.Context(), "prod"); !errors.Is(err, sink.ErrNoCheckpoint) {
		t.Fatalf("a store without checkpoints: %v, want ErrNoCheckpoint", err)
	}
	for i, size := range []int{0, 1, 1 << 20, 1<<20 + 1, 5<<20 + 7} {
		c := sink.Checkpoint{
			Name: "prod", Written: noon.Add(time.Duration(i) * time.Minute),
			Marks: []sink.PartitionMark{reached(move("audit/0", 0, int64(i+1))), at("/logs/\xff\x00", sink.Mark{Detail: "\xfe"})},
		}
		want := content(uint64(i), size)
		if err := s.SaveCheckpoint(t.Context(), c, iotest.HalfReader(bytes.NewReader(want))); err != nil {
			t.Fatal(err)
		}
		got, text := load(t, open(t), "prod")
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("checkpoint of %d bytes (- expected, + found):\n%s", size, diff)
		}
		if !bytes.Equal(want, text) {
			t.Errorf("the content of %d bytes comes back as %d others", size, len(text))
		}
	}
	if _, _, err := s.LoadCheckpoint(t.Context(), "test"); !errors.Is(err, sink.ErrNoCheckpoint) {
		t.Errorf("another name: %v, want ErrNoCheckpoint", err)
	}
	begun := time.Now().Truncate(time.Microsecond)
	if err := s.SaveCheckpoint(t.Context(), sink.Checkpoint{Name: "test"}, bytes.NewReader(nil)); err != nil {
		t.Fatal(err)
	}
	if got, _ := load(t, s, "test"); got.Written.Before(begun) || got.Written.After(time.Now()) {
		t.Errorf("without a time the checkpoint was written at %v", got.Written)
	}
	if got, _ := load(t, s, "prod"); got.Written != noon.Add(4*time.Minute) {
		t.Errorf("a checkpoint of another name displaced this one, which is of %v now", got.Written)
	}
}

// checkpointsOfTwo: what is loaded is whole, while others save.
func checkpointsOfTwo(t *testing.T, open Open) {
	stores := []sink.Database{open(t), open(t)}
	const size = 2<<20 + 1
	save := func(i int) error {
		c := sink.Checkpoint{Name: "prod", Marks: []sink.PartitionMark{at("audit/0", sink.Mark{Offset: int64(i)})}}
		return stores[i%2].SaveCheckpoint(t.Context(), c, bytes.NewReader(content(uint64(i), size)))
	}
	if err := save(0); err != nil {
		t.Fatal(err)
	}
	together(t, 4, func(i int) error {
		if i > 1 {
			return errors.Join(save(i), save(i+2), save(i+4))
		}
		for range 5 {
			c, r, err := stores[i].LoadCheckpoint(t.Context(), "prod")
			if err != nil {
				return err
			}
			text, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil {
				return err
			}
			if !bytes.Equal(text, content(uint64(c.Marks[0].Mark.Offset), size)) {
				return fmt.Errorf("the checkpoint of mark %d has another's content", c.Marks[0].Mark.Offset)
			}
		}
		return nil
	})
}

// brokenCheckpoint: a content that breaks off is not stored.
func brokenCheckpoint(t *testing.T, open Open) {
	s := open(t)
	c := sink.Checkpoint{Name: "prod", Written: noon}
	if err := s.SaveCheckpoint(t.Context(), c, bytes.NewReader([]byte("whole"))); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []error{errors.New("disk on fire"), io.ErrUnexpectedEOF} {
		r := io.MultiReader(bytes.NewReader(content(1, 3<<20+5)), iotest.ErrReader(broken))
		if err := s.SaveCheckpoint(t.Context(), c, r); !errors.Is(err, broken) {
			t.Errorf("the content breaks off with %v, and saving says %v", broken, err)
		}
	}
	if _, text := load(t, s, "prod"); string(text) != "whole" {
		t.Errorf("the checkpoint has %d bytes, not those of the one that was saved whole", len(text))
	}
}

func load(t testing.TB, s sink.Store, name string) (sink.Checkpoint, []byte) {
	t.Helper()
	c, r, err := s.LoadCheckpoint(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return c, text
}
