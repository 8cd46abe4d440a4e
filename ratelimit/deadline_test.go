package ratelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestADeadlineIsThatOfTheContextPackage(t *testing.T) {
	parents := map[string]func() (context.Context, context.CancelFunc){
		"no end": func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
		"ends before": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Second)
		},
		"ends after": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Hour)
		},
		"cancelled soon": func() (context.Context, context.CancelFunc) { return cancelledIn(time.Second) },
	}
	for name, parent := range parents {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := parent()
				defer cancel()
				at := time.Now().Add(time.Minute)
				want, stop := context.WithDeadline(ctx, at)
				defer stop()
				asked, waited := &deadline{Context: ctx, at: at}, &deadline{Context: ctx, at: at}
				defer waited.cancel()

				if got, ok := waited.Deadline(); !ok {
					t.Error("no deadline")
				} else if w, _ := want.Deadline(); !got.Equal(w) {
					t.Errorf("deadline %v, want %v", got, w)
				}
				if asked.Err() != nil || waited.Err() != nil {
					t.Errorf("it has ended at once: %v, %v", asked.Err(), waited.Err())
				}
				<-want.Done()
				<-waited.Done()
				if !errors.Is(asked.Err(), want.Err()) || !errors.Is(waited.Err(), want.Err()) {
					t.Errorf("ended with %v, %v; want %v", asked.Err(), waited.Err(), want.Err())
				}
				if asked.timed != nil {
					t.Error("a timer was made for a context that nobody has waited for")
				}
			})
		})
	}
}

func cancelledIn(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(d, cancel)
	return ctx, cancel
}
