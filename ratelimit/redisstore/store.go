package redisstore

import "github.com/anivault/anivault/ratelimit/internal/shared"

// Store is a [shared.Store] for the processes of several machines. It never fails because of the server: trouble is
// a warning, and the machine goes on alone, with its share of the limits, until the server works again.
type Store = shared.Store

// StoreOptions tunes a [Store]: Place names the server in warnings, Fallback is the store that the processes of this
// machine share while the server can't be used, and OnWarning receives the warnings.
type StoreOptions = shared.Options

// NewStore returns the store over a backend. Close closes both the backend and the fallback.
func NewStore(b *Backend, o StoreOptions) *Store { return shared.New(b, o) }
