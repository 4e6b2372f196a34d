package web

import (
	"context"
	"time"

	"github.com/vapshadow/vapshadow/sink"
)

// chart is a row of stacked bars over time. It is 1000 wide and 100 high, and stretched to its place.
type chart struct {
	Title string
	Max   int64
	Bars  []chartBar
	Table table
	// Start and End bound what is shown, Width is the width of a bar in time.
	Start, End time.Time
	Width      string
	Legend     []legend
}

type chartBar struct {
	Kind                string
	X, Y, Width, Height float64
	Title               string
}

type legend struct{ Kind, Text string }

// widths are what the bars of a chart may stand for.
var widths = []struct {
	every time.Duration
	text  string
}{
	{time.Minute, "a minute"},
	{5 * time.Minute, "5 minutes"},
	{15 * time.Minute, "15 minutes"},
	{time.Hour, "an hour"},
	{3 * time.Hour, "3 hours"},
	{6 * time.Hour, "6 hours"},
	{24 * time.Hour, "a day"},
	{7 * 24 * time.Hour, "a week"},
	{28 * 24 * time.Hour, "4 weeks"},
	{364 * 24 * time.Hour, "52 weeks"},
}

// As many bars fit on the narrowest screen and still show a trend.
const minBars, maxBars = 14, 48

// trendKinds are what is counted over time, the bottom of a bar first.
var trendKinds = []legend{{"fail", "Fail"}, {"error", "Error"}, {"unknown", "Unknown"}}

// trend counts the requests with failures, errors and unknowns over time.
func trend(ctx context.Context, r Reader, f sink.Filter, title string) (*chart, error) {
	// Reading one row from each end is quick, however many there are between.
	f.Limit = 1
	first, err := collect(r.Failures(ctx, f))
	if err != nil || len(first) == 0 {
		return nil, err
	}
	f.Newest = true
	last, err := collect(r.Failures(ctx, f))
	if err != nil || len(last) == 0 {
		return nil, err
	}
	f.Limit, f.Newest = 0, false
	c := &chart{Title: title, Legend: trendKinds}
	every := c.frame(first[0].StageTimestamp, last[0].StageTimestamp)
	counts, err := collect(r.CountFailures(ctx, f, sink.Grouping{By: []string{"result"}, Every: every}))
	if err != nil {
		return nil, err
	}
	c.draw(counts, every)
	return c, nil
}

// frame chooses the width of the bars.
func (c *chart) frame(first, last time.Time) time.Duration {
	w := widths[len(widths)-1]
	for _, candidate := range widths {
		if last.Sub(first.Truncate(candidate.every)) < maxBars*candidate.every {
			w = candidate
			break
		}
	}
	c.Width = w.text
	c.End = last.Truncate(w.every).Add(w.every)
	c.Start = first.Truncate(w.every)
	if earliest := c.End.Add(-minBars * w.every); c.Start.After(earliest) {
		c.Start = earliest
	}
	return w.every
}

func (c *chart) draw(counts []sink.Group, every time.Duration) {
	stacks := map[time.Time]map[string]int64{}
	for _, g := range counts {
		if stacks[g.Span] == nil {
			stacks[g.Span] = map[string]int64{}
		}
		stacks[g.Span][g.Values[0]] += g.Requests
	}
	for _, stack := range stacks {
		c.Max = max(c.Max, stack["Fail"]+stack["Error"]+stack["Unknown"])
	}
	n := float64(c.End.Sub(c.Start) / every)
	c.Table = table{Caption: "The chart as a table", Head: heads("From (UTC)", "#Fail", "#Error", "#Unknown")}
	for i := range int(n) {
		at := c.Start.Add(time.Duration(i) * every)
		stack := stacks[at]
		if stack == nil {
			continue
		}
		y := 100.0
		for _, kind := range trendKinds {
			requests := stack[kind.Text]
			height := float64(requests) / float64(max(c.Max, 1)) * 100
			if requests > 0 {
				height = max(height, 1.5) // else one among thousands is not seen
				y = max(y-height, 0)
				c.Bars = append(c.Bars, chartBar{
					kind.Kind, float64(i) * 1000 / n, y, 1000/n - min(4, 200/n), height,
					minute(at) + ": " + several(requests, "request", "requests") + " " + kind.Text,
				})
			}
		}
		c.Table.Rows = append(c.Table.Rows, []cell{when(at), count(stack["Fail"]), count(stack["Error"]), count(stack["Unknown"])})
	}
}
