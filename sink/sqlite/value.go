package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/vapshadow/vapshadow/sink/internal/table"
)

// timeLayout writes all times with one length, so that they sort as texts.
const timeLayout = "2006-01-02T15:04:05.000000Z"

func formatTime(t time.Time) string { return table.Time(t).Format(timeLayout) }

func parseTime(s string) (time.Time, error) { return time.Parse(timeLayout, s) }

// value is what the file holds for a field.
func value(field any) (any, error) {
	switch f := field.(type) {
	case *string:
		return *f, nil
	case *int32:
		return int64(*f), nil
	case *int64:
		return *f, nil
	case *bool:
		return *f, nil
	case *time.Time:
		return formatTime(*f), nil
	case *[]string:
		if len(*f) == 0 {
			return "[]", nil
		}
		text, err := json.Marshal(*f)
		return string(text), err
	default:
		return nil, fmt.Errorf("no column holds a %T", field)
	}
}

// scanner reads a field back.
type scanner struct{ field any }

// Scan implements sql.Scanner.
func (s scanner) Scan(src any) (err error) {
	switch f := s.field.(type) {
	case *string:
		*f, err = as[string](src)
	case *int32:
		var n int64
		n, err = as[int64](src)
		*f = int32(n)
	case *int64:
		*f, err = as[int64](src)
	case *bool:
		var n int64
		n, err = as[int64](src)
		*f = n != 0
	case *time.Time:
		var text string
		if text, err = as[string](src); err == nil {
			*f, err = parseTime(text)
		}
	case *[]string:
		var text string
		if text, err = as[string](src); err == nil && text != "[]" {
			err = json.Unmarshal([]byte(text), f)
		}
	default:
		err = fmt.Errorf("no column holds a %T", f)
	}
	return err
}

func as[V any](src any) (V, error) {
	v, ok := src.(V)
	if !ok {
		return v, fmt.Errorf("found a %T where a %T should be", src, v)
	}
	return v, nil
}
