package redisstore

// Key returns the name of one of the backend's keys.
func (b *Backend) Key(name string) string { return b.key(name) }
