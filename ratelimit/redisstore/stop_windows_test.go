package redisstore_test

func stopSelf() {}
