package peers

import (
	"context"
	"time"
	_ "unsafe" // for go:linkname
)

// awsSleep is how AWS's SDK sleeps. A wait that it rounds to 0 ns would never let virtual time pass.
//
//go:linkname awsSleep github.com/aws/aws-sdk-go-v2/internal/sdk.SleepWithContext
var awsSleep func(context.Context, time.Duration) error

func init() {
	awsSleep = func(ctx context.Context, d time.Duration) error { return Sleep(ctx, max(d, time.Microsecond)) }
}
